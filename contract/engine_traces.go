package contract

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// The text of stack traces is not an API of Go. Only this file reads it, to name the
// goroutines that user code left behind in a bubble, and those that keep its clock
// from moving. It names none where the text is not as expected.

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

// allTraces are the traces of all goroutines; empty without a bubble.
func allTraces(bubble string) string {
	if bubble == "" {
		return ""
	}
	for size := 1 << 18; ; size *= 4 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size || size >= maxTraces {
			return string(b[:n])
		}
	}
}

// strays names the goroutines that user code left in a bubble: those in real I/O; if there are
// none, those that stop the bubble's clock; if there are none, all. inIO reports whether one of
// them waits for real I/O and none is busy. Only real time ends a wait for I/O; anything else that
// stops the clock may still end by itself.
func strays(traces, bubble string) (names string, inIO bool) {
	var reading, freezing, other []tracedGoroutine
	working := false
	for _, g := range goroutinesOf(traces, bubble) {
		switch {
		case g.collecting:
			working = true
			continue
		case g.engine:
			continue
		case g.durable:
			other = append(other, g)
		default:
			freezing = append(freezing, g)
		}
		working = working || g.busy()
		if g.state == waitsForIO {
			reading = append(reading, g)
		}
	}
	switch {
	case len(reading) > 0 && !working:
		return list(reading), true
	case len(freezing) > 0:
		return list(freezing), false
	}
	return list(other), false
}

// holders names the goroutines that keep the clock of a bubble from moving now, also the one on
// which the engine runs user code. inIO says who they are if all of them are in real I/O, and is
// empty if something else keeps the clock too, or nothing does.
func holders(traces, bubble string) (names, inIO string) {
	var holding []tracedGoroutine
	all := true
	for _, g := range goroutinesOf(traces, bubble) {
		switch {
		case g.durable:
		case g.collecting:
			all = false
		case g.engine && !g.user:
			all = all && !g.busy()
		default:
			holding, inIO = append(holding, g), inIO+g.number+" "
			all = all && g.state == waitsForIO
		}
	}
	if !all {
		inIO = ""
	}
	return list(holding), inIO
}

// goroutinesOf are the goroutines of a bubble, also those that help the garbage collector: Go takes
// a goroutine out of its bubble for as long as it does, and its trace names no bubble then. Such a
// one is known by the goroutine that started it. If that has ended, nobody knows where it belongs;
// it is here too, since a verdict about a goroutine in I/O needs to be sure that no other works.
func goroutinesOf(traces, bubble string) (all []tracedGoroutine) {
	inside, there := map[string]bool{}, map[string]bool{"": true}
	var outside []tracedGoroutine
	first := true // the goroutine that asked for the traces
	for trace := range strings.SplitSeq(traces, "\n\n") {
		lines := strings.Split(strings.TrimSpace(trace), "\n")
		g, ok := readTrace(lines)
		there[g.number] = true
		switch bubbleOf(lines[0]) {
		case bubble:
			inside[g.number] = true
			if ok {
				all = append(all, g)
			}
		case "":
			g.collecting = g.state == "semacquire" || g.busy() && g.state != "syscall"
			if ok && g.collecting && !first {
				outside = append(outside, g)
			}
		}
		first = false
	}
	for before := -1; before != len(all); { // until no other is found: each may have started the next
		before = len(all)
		outside = slices.DeleteFunc(outside, func(g tracedGoroutine) bool {
			ours := inside[g.starter] || !there[g.starter]
			if ours {
				inside[g.number] = true
				all = append(all, g)
			}
			return ours
		})
	}
	return all
}

// list lists the goroutines in alphabetical order, equal ones once with their number.
func list(goroutines []tracedGoroutine) string {
	counts := map[string]int{}
	for _, g := range goroutines {
		counts[g.name]++
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; n > 1 {
			name = fmt.Sprintf("%d of %s", n, name)
		}
		parts = append(parts, name)
	}
	const most = 5
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// A tracedGoroutine is what a trace says about a goroutine.
type tracedGoroutine struct {
	number     string
	starter    string // the number of the goroutine that started it; empty: nobody did
	state      string // such as "chan receive"
	durable    bool   // it is blocked in a way that lets the bubble's clock advance
	collecting bool   // its trace names no bubble: it may be helping the garbage collector
	engine     bool   // it is one of the engine's
	user       bool   // it is in a function of user code
	name       string // its top function of user code, and its state
}

const waitsForIO = "IO wait"

// busy reports whether the goroutine is computing, or waits only for the
// scheduler or the garbage collector.
func (g tracedGoroutine) busy() bool {
	switch g.state {
	case "running", "runnable", "syscall", "preempted", "copystack", "GC assist wait", "GC assist marking":
		return true
	}
	return false
}

var headPattern = regexp.MustCompile(`^goroutine (\d+) [^\[]*\[([^\],]*?)(?: \(scan\))?( \(durable\))?(?:,[^\]]*)?\]`)

func readTrace(lines []string) (g tracedGoroutine, ok bool) {
	head := headPattern.FindStringSubmatch(lines[0])
	if head == nil {
		return g, false
	}
	g.number, g.state, g.durable = head[1], head[2], head[3] != ""
	var frames []frame
	starter := ""
	for i := 1; i+1 < len(lines); i++ {
		if !strings.HasPrefix(lines[i+1], "\t") {
			continue // such as a line that frames are left out
		}
		f := readFrame(lines[i], lines[i+1])
		if fn, created := strings.CutPrefix(f.function, "created by "); created {
			f.function, g.starter, _ = strings.Cut(fn, " in goroutine ")
			starter = ", started by " + f.String()
		} else {
			frames = append(frames, f)
			g.engine = g.engine || f.ofEngine()
		}
		i++
	}
	top := slices.IndexFunc(frames, frame.ofUser)
	switch g.user = top >= 0; {
	case g.user:
		starter = ""
	case len(frames) == 0: // Go shows no frames of one that is running
		g.name = "a goroutine, " + g.state
		return g, g.busy()
	default:
		top = max(0, slices.IndexFunc(frames, func(f frame) bool { return !f.ofRuntime() }))
	}
	g.name = fmt.Sprintf("%v, %s%s", frames[top], g.state, starter)
	return g, true
}

// A frame is one call of a trace.
type frame struct{ function, file, line string }

// readFrame reads "pkg.F(0x1, ...)" and "\t/dir/file.go:12 +0x1f".
func readFrame(call, place string) frame {
	f := frame{function: call}
	if open := strings.LastIndexByte(call, '('); open > 0 && strings.HasSuffix(call, ")") {
		f.function = call[:open]
	}
	place, _, _ = strings.Cut(strings.TrimSpace(place), " ")
	if colon := strings.LastIndexByte(place, ':'); colon >= 0 {
		f.file, f.line = place[:colon], place[colon+1:]
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
	case module + "contract.(*liveRun).runInBubble", module + "internal/usercode.(*server).serve",
		"internal/synctest.Run", "testing/synctest.testingSynctestTest":
		return true
	}
	return false
}

// ofUser reports whether the frame is neither of the standard library, nor of the
// injection points, nor of the engine.
func (f frame) ofUser() bool {
	for _, own := range [...]string{"chaos.", "chaos/", "contract.", "internal/"} {
		if strings.HasPrefix(f.function, module+own) {
			return false
		}
	}
	// Go's own files are in the folder of the runtime. Where paths are trimmed, the first element
	// of theirs has no dot.
	if root := standardLibrary(); root != "" {
		return !strings.HasPrefix(f.file, root)
	}
	first, _, _ := strings.Cut(f.file, "/")
	return strings.Contains(cmp.Or(first, "."), ".")
}

func (f frame) ofRuntime() bool {
	pkg, _, _ := strings.Cut(f.function, ".")
	return pkg == "runtime" || strings.HasPrefix(pkg, "internal/")
}

// standardLibrary is the folder of Go's own packages; empty: paths are trimmed.
func standardLibrary() string {
	var pcs [1]uintptr
	runtime.Callers(0, pcs[:])
	f, _ := runtime.CallersFrames(pcs[:]).Next() // runtime.Callers
	return strings.TrimSuffix(f.File, "runtime/extern.go")
}
