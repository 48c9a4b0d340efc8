package contracttest

import (
	"fmt"
	"net/url"
	"regexp"
	"runtime"
	"strings"
)

// testLine is the command to run one test again, from anywhere in the module, or a subtest of it
// whose levels are patterns. -run has an anchored expression for each level, so that it selects
// exactly this one.
func testLine(test, pkg string, levels ...string) string {
	var parts []string
	for part := range strings.SplitSeq(test, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	for _, level := range levels {
		parts = append(parts, "^"+level+"$")
	}
	pattern := strings.ReplaceAll(strings.Join(parts, "/"), "'", ".") // a quote would end the argument
	return fmt.Sprintf("go test -count=1 -run '%s' %s", pattern, pkg)
}

// testedPackage returns the import path of the running test's package. There may be
// helpers between the test and this function. If it finds no test, it returns ".".
func testedPackage() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	test := ""
	for {
		frame, more := frames.Next()
		if frame.Function == "testing.tRunner" {
			return packageOf(test)
		}
		test = frame.Function
		if !more {
			return "."
		}
	}
}

// packageOf returns the import path in the name of a function, such as
// "example.org/a/b%2ev2_test.TestX.func1": dots of its last element are
// escaped, and an external test package has "_test" appended.
func packageOf(function string) string {
	slash := strings.LastIndex(function, "/") + 1
	last, _, ok := strings.Cut(function[slash:], ".")
	if unescaped, err := url.PathUnescape(last); err == nil {
		last = unescaped
	}
	pkg := strings.TrimSuffix(function[:slash]+last, "_test")
	if !ok || pkg == "command-line-arguments" {
		return "."
	}
	return pkg
}
