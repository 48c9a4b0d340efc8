package contracttest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPackageOf(t *testing.T) {
	for _, tc := range []struct{ reason, function, want string }{
		{"a test", "example.org/a/b.TestX", "example.org/a/b"},
		{"a subtest", "example.org/a/b.TestX.func1.2", "example.org/a/b"},
		{"of an external test package", "example.org/a/b_test.TestX", "example.org/a/b"},
		{"a method of a suite", "example.org/a/b.(*Suite).TestX", "example.org/a/b"},
		{"a dot in the last element is escaped", "gopkg.in/yaml%2ev3_test.TestX", "gopkg.in/yaml.v3"},
		{"a dot elsewhere is not", "example.org/v1.2/b.TestX", "example.org/v1.2/b"},
		{"files on the command line have no path", "command-line-arguments.TestX", "."},
		{"nor has an unknown caller", "", "."},
	} {
		assert.Equal(t, tc.want, packageOf(tc.function), tc.reason)
	}
}

func TestTestedPackage(t *testing.T) {
	const here = "github.com/shakedown-go/shakedown/contract/contracttest"
	assert.Equal(t, here, testedPackage())
	t.Run("in a subtest", func(t *testing.T) { assert.Equal(t, here, testedPackage()) })
	done := make(chan string)
	go func() { done <- testedPackage() }()
	assert.Equal(t, ".", <-done, "on a goroutine of no test")
}

func TestRerunLine(t *testing.T) {
	assert.Equal(t, `go test -count=1 -run '^TestX$/^a\.b$/^3$' example.org/p`, testLine("TestX/a.b/3", "example.org/p"))
	assert.Equal(t, `go test -count=1 -run '^TestX$/^it.s_\(so\)$/^{scenario}$' .`, testLine("TestX/it's_(so)", ".", "{scenario}"))
}
