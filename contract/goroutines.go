package contract

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// The text of stack traces is not an API of Go. Only this file reads it, to name
// the goroutines that user code left behind in a bubble. It names none where the
// text is not as expected.

// bubbleNumber is the number of the caller's bubble, as it stands in stack
// traces; empty outside of a bubble.
func bubbleNumber() string {
	var b [256]byte
	head, _, _ := strings.Cut(string(b[:runtime.Stack(b[:], false)]), "\n")
	return bubbleOf(head)
}

var bubblePattern = regexp.MustCompile(`, synctest bubble (\d+)\b`)

func bubbleOf(head string) string {
	if m := bubblePattern.FindStringSubmatch(head); m != nil {
		return m[1]
	}
	return ""
}

// maxTraces bounds the traces of all goroutines, in bytes.
const maxTraces = 32 << 20

// strays names the goroutines that user code left in a bubble. inIO reports
// whether one of them waits for real I/O and none is busy. Only real time ends a
// wait for I/O; anything else that stops the bubble's clock may still end by itself.
func strays(bubble string) (names string, inIO bool) {
	if bubble == "" {
		return "", false
	}
	for size := 1 << 18; ; size *= 4 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size || size >= maxTraces {
			return nameStrays(string(b[:n]), bubble)
		}
	}
}

// maxStrays bounds the goroutines that are named.
const maxStrays = 5

// nameStrays reads the traces of all goroutines. It names those in real I/O;
// if there are none, those that stop the bubble's clock; if there are none, all.
func nameStrays(traces, bubble string) (names string, inIO bool) {
	var reading, freezing, other []string
	working := false
	for trace := range strings.SplitSeq(traces, "\n\n") {
		g, ok := readTrace(trace)
		if !ok || g.bubble != bubble || g.engine {
			continue
		}
		working = working || g.busy()
		if g.state == "IO wait" {
			reading = append(reading, g.name)
		}
		if g.durable {
			other = append(other, g.name)
		} else {
			freezing = append(freezing, g.name)
		}
	}
	switch {
	case len(reading) > 0 && !working:
		return listStrays(reading), true
	case len(freezing) > 0:
		return listStrays(freezing), false
	}
	return listStrays(other), false
}

// listStrays lists the names in alphabetical order, equal ones once with their number.
func listStrays(names []string) string {
	slices.Sort(names)
	var parts []string
	for i := 0; i < len(names); {
		n := 1
		for i+n < len(names) && names[i+n] == names[i] {
			n++
		}
		part := names[i]
		if n > 1 {
			part = fmt.Sprintf("%d of %s", n, part)
		}
		parts = append(parts, part)
		i += n
	}
	if more := len(parts) - maxStrays; more > 0 {
		parts = append(parts[:maxStrays], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// A tracedGoroutine is what a trace says about a goroutine.
type tracedGoroutine struct {
	bubble  string
	state   string // such as "chan receive"
	durable bool   // it is blocked in a way that lets the bubble's clock advance
	engine  bool   // it belongs to the engine, not to user code
	name    string // its top function of user code, and its state
}

// busy reports whether the goroutine is computing, or waits only for the
// scheduler or the garbage collector.
func (g tracedGoroutine) busy() bool {
	switch g.state {
	case "running", "runnable", "syscall", "preempted", "copystack", "GC assist wait", "GC assist marking":
		return true
	}
	return false
}

var headPattern = regexp.MustCompile(`^goroutine \d+ [^\[]*\[([^\],]*?)(?: \(scan\))?( \(durable\))?(?:,[^\]]*)?\]`)

func readTrace(trace string) (g tracedGoroutine, ok bool) {
	lines := strings.Split(strings.TrimSpace(trace), "\n")
	head := headPattern.FindStringSubmatch(lines[0])
	if head == nil {
		return g, false
	}
	g.bubble, g.state, g.durable = bubbleOf(lines[0]), head[1], head[2] != ""
	var frames []frame
	var creator frame
	for i := 1; i+1 < len(lines); i++ {
		if !strings.HasPrefix(lines[i+1], "\t") {
			continue // such as a line that frames are left out
		}
		f := readFrame(lines[i], lines[i+1])
		if fn, created := strings.CutPrefix(f.function, "created by "); created {
			f.function, _, _ = strings.Cut(fn, " in goroutine ")
			creator = f
		} else {
			frames = append(frames, f)
			g.engine = g.engine || f.ofEngine()
		}
		i++
	}
	if len(frames) == 0 {
		return g, false
	}
	at := slices.IndexFunc(frames, frame.ofUser)
	if at >= 0 {
		g.name = fmt.Sprintf("%v, %s", frames[at], g.state)
		return g, true
	}
	at = max(0, slices.IndexFunc(frames, func(f frame) bool { return !f.ofRuntime() }))
	g.name = fmt.Sprintf("%v, %s", frames[at], g.state)
	if creator.function != "" {
		g.name += fmt.Sprintf(", started by %v", creator)
	}
	return g, true
}

// A frame is one call of a trace.
type frame struct{ function, file, line string }

// readFrame reads "pkg.F(0x1, ...)" and "\t/dir/file.go:12 +0x1f".
func readFrame(call, place string) frame {
	f := frame{function: call}
	if at := strings.LastIndexByte(call, '('); at > 0 && strings.HasSuffix(call, ")") {
		f.function = call[:at]
	}
	place, _, _ = strings.Cut(strings.TrimSpace(place), " ")
	if at := strings.LastIndexByte(place, ':'); at >= 0 {
		f.file, f.line = place[:at], place[at+1:]
	}
	return f
}

// String leaves out the folder, which differs between machines.
func (f frame) String() string {
	return fmt.Sprintf("%s (%s:%s)", f.function, path.Base(strings.ReplaceAll(f.file, `\`, "/")), f.line)
}

const module = "github.com/shakedown-go/shakedown/"

// ofEngine reports whether only the engine's own goroutines have the frame.
func (f frame) ofEngine() bool {
	switch f.function {
	case module + "contract.(*runner).runInBubble", module + "internal/usercode.(*server).serve",
		"internal/synctest.Run", "testing/synctest.testingSynctestTest":
		return true
	}
	return false
}

// ofUser reports whether the frame is neither of the standard library nor of the
// injection points.
func (f frame) ofUser() bool {
	return !f.standard() && !strings.HasPrefix(f.function, module+"chaos.") && !strings.HasPrefix(f.function, module+"chaos/")
}

func (f frame) ofRuntime() bool {
	pkg, _, _ := strings.Cut(f.function, ".")
	return pkg == "runtime" || strings.HasPrefix(pkg, "internal/")
}

// standard reports whether the file is one of Go's own: by the folder of the
// runtime, and where paths are trimmed by a first element without a dot.
func (f frame) standard() bool {
	root := strings.TrimSuffix(runtimeFile(), "runtime/extern.go")
	if root != "" {
		return strings.HasPrefix(f.file, root)
	}
	first, _, _ := strings.Cut(f.file, "/")
	return !strings.Contains(cmp.Or(first, "."), ".")
}

// runtimeFile is where the binary says that runtime.Callers is.
func runtimeFile() string {
	var pcs [1]uintptr
	runtime.Callers(0, pcs[:])
	f, _ := runtime.CallersFrames(pcs[:]).Next()
	return f.File
}
