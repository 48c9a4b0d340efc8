package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// executeInBubble makes a run in virtual time and watches it from outside the
// bubble. From there it must not touch anything that was made inside: it only
// sets the flag that closes the injector.
func (w *worker) executeInBubble(ctx context.Context, r *liveRun, bubble Bubble) *run {
	over, cancelled := false, ctx.Done() // the first call makes the channel: inside, it would belong to the bubble
	asked, answers := r.askFromInside()
	defer close(answers)
	r.userDone = make(chan struct{}, 1)
	var inside atomic.Bool
	ended := w.caller.Start(func() error {
		err := bubble(func() {
			if inside.CompareAndSwap(false, true) {
				r.runInBubble()
			}
		})
		if err != nil {
			err = &blocked{err}
		}
		return err
	})
	var doneAt time.Time // when user code was done
	var still stillness
	end := w.due // when the watchdog expires; it is woken before, to look at the bubble
	w.watchdog.Reset(w.engine.untilLook(end))
	for {
		select {
		case err := <-ended:
			return r.afterBubble(w.caller.Received(err))
		case o := <-asked:
			answers <- w.between(ctx, r.inquiry, o)
			end = w.due
			w.watchdog.Reset(w.engine.untilLook(end))
		case <-r.userDone:
			if !over {
				doneAt = time.Now()
				w.watchdog.Reset(min(time.Until(end), leftover))
			}
		case <-w.watchdog.C:
			left := time.Until(end)
			switch {
			case over:
			case doneAt.IsZero() && left > 0 && !r.frozen(&still):
				w.watchdog.Reset(w.engine.untilLook(end))
				continue
			case !doneAt.IsZero() && !r.leftInIO(time.Since(doneAt)) && left > 0:
				w.watchdog.Reset(min(left, leftover))
				continue
			}
			w.caller.Release()
			return r.abandon(!doneAt.IsZero())
		case <-cancelled:
			cancelled, over = nil, true
			r.mu.Lock()
			r.close()
			r.mu.Unlock()
			w.watch(usercode.Grace)
		}
	}
}

// leftover is how much real time a bubble has to end once its user code is done.
// A goroutine that is left in real I/O stops the bubble's clock.
const leftover = 5 * time.Second

// askFromInside connects a run in a bubble with the inquiry, whose checks run
// outside. The channels are made outside too, so the bubble's clock stands still
// during a check. Closing answers makes later questions return false.
func (r *liveRun) askFromInside() (asked chan *Observation, answers chan bool) {
	asked, answers = make(chan *Observation, 1), make(chan bool, 1)
	if r.inquiry != nil {
		r.next = func(o *Observation) bool {
			asked <- o
			return <-answers
		}
	}
	return asked, answers
}

// runInBubble makes the run on the bubble's first goroutine.
func (r *liveRun) runInBubble() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.outer))
	own := newCaller() // its goroutine must belong to the bubble
	r.caller, r.patience = &own, patience
	number := bubbleNumber()
	r.mu.Lock()
	r.bubble = number
	r.mu.Unlock()
	r.run(ctx, cancel)
	cancel()
	own.Release()
	r.begin("waiting for the goroutines it left")
	r.userDone <- struct{}{}
	time.Sleep(usercode.Grace) // for goroutines that look at their context now and then
	r.endCalls()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
}

// blocked is an error of the bubble itself: its goroutines are blocked for good.
type blocked struct{ error }

// afterBubble returns the run of a bubble that has ended with err.
func (r *liveRun) afterBubble(err error) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var stuck *blocked
	switch {
	case err == nil && r.done:
	case err == nil:
		r.fail(errors.New("the bubble did not run the cell to its end"))
	case !errors.As(err, &stuck):
		r.fail(fmt.Errorf("the bubble failed: %w", err))
	case r.injector == nil:
		r.fail(fmt.Errorf("the bubble did not run the cell: %w", err))
	case !r.done:
		r.fail(fmt.Errorf("blocked for good, while %s: %w", r.step, err))
		r.result.abandoned = true
	case !r.result.abandoned:
		names, _ := strays(r.bubble)
		r.result.leaked, r.result.abandoned = cmp.Or(names, err.Error()), true
	}
	return r.sum()
}

// leftInIO reports whether user code left a goroutine in real I/O for at least
// the grace, which is a leak: the bubble cannot end.
func (r *liveRun) leftInIO(after time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	names, inIO := strays(r.bubble)
	if inIO && after >= usercode.Grace {
		r.result.leaked = names
		return true
	}
	r.left = names
	return false
}

// patience is how much virtual time user code may take; more is a hang, since no
// realistic test waits for a month. It is not a deadline of the context, which
// user code would see. It is short enough for a world with a ticker of a second.
const patience = 30 * 24 * time.Hour

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

// strays names the goroutines that user code left in a bubble. inIO reports
// whether one of them waits for real I/O and none is busy. Only real time ends a
// wait for I/O; anything else that stops the bubble's clock may still end by itself.
func strays(bubble string) (names string, inIO bool) {
	return nameStrays(allTraces(bubble), bubble)
}

// holders names the goroutines that keep the clock of a bubble from moving now, also
// the one on which the engine runs user code. It names none if there is none.
func holders(bubble string) string {
	return nameHolders(allTraces(bubble), bubble)
}

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

// maxStrays bounds the goroutines that are named.
const maxStrays = 5

// nameStrays reads the traces of all goroutines. It names those in real I/O;
// if there are none, those that stop the bubble's clock; if there are none, all.
func nameStrays(traces, bubble string) (names string, inIO bool) {
	var reading, freezing, other []tracedGoroutine
	working := false
	for g := range goroutinesOf(traces, bubble) {
		if g.engine {
			continue
		}
		working = working || g.busy()
		if g.state == "IO wait" {
			reading = append(reading, g)
		}
		if g.durable {
			other = append(other, g)
		} else {
			freezing = append(freezing, g)
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

// nameHolders reads the traces of all goroutines.
func nameHolders(traces, bubble string) string {
	var holding []tracedGoroutine
	for g := range goroutinesOf(traces, bubble) {
		if !g.durable && (g.user || !g.engine) {
			holding = append(holding, g)
		}
	}
	return list(holding)
}

// goroutinesOf yields the goroutines of a bubble.
func goroutinesOf(traces, bubble string) iter.Seq[tracedGoroutine] {
	return func(yield func(tracedGoroutine) bool) {
		for g := range tracedIn(traces) {
			if g.bubble == bubble && !yield(g) {
				return
			}
		}
	}
}

// tracedIn yields all goroutines that can be read.
func tracedIn(traces string) iter.Seq[tracedGoroutine] {
	return func(yield func(tracedGoroutine) bool) {
		for trace := range strings.SplitSeq(traces, "\n\n") {
			if g, ok := readTrace(trace); ok && !yield(g) {
				return
			}
		}
	}
}

// list lists the goroutines in alphabetical order, equal ones once with their number,
// and the rows of docs/virtual-time.md that are about them.
func list(goroutines []tracedGoroutine) string {
	var names, rows []string
	for _, g := range goroutines {
		names = append(names, g.name)
		if g.row != "" && !slices.Contains(rows, g.row) {
			rows = append(rows, g.row)
		}
	}
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
	text := strings.Join(parts, "; ")
	if len(rows) > 0 {
		slices.Sort(rows)
		text += " (docs/virtual-time.md: " + strings.Join(rows, ", ") + ")"
	}
	return text
}

// A tracedGoroutine is what a trace says about a goroutine.
type tracedGoroutine struct {
	number  string
	creator string // the number of the goroutine that started it
	bubble  string
	state   string // such as "chan receive"
	durable bool   // it is blocked in a way that lets the bubble's clock advance
	engine  bool   // it is one of the engine's
	user    bool   // it is in a function of user code
	name    string // its top function of user code, and its state
	row     string // what it is in docs/virtual-time.md; empty: nothing of note
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

var headPattern = regexp.MustCompile(`^goroutine (\d+) [^\[]*\[([^\],]*?)(?: \(scan\))?( \(durable\))?(?:,[^\]]*)?\]`)

func readTrace(trace string) (g tracedGoroutine, ok bool) {
	lines := strings.Split(strings.TrimSpace(trace), "\n")
	head := headPattern.FindStringSubmatch(lines[0])
	if head == nil {
		return g, false
	}
	g.number, g.bubble, g.state, g.durable = head[1], bubbleOf(lines[0]), head[2], head[3] != ""
	var frames []frame
	var creator frame
	for i := 1; i+1 < len(lines); i++ {
		if !strings.HasPrefix(lines[i+1], "\t") {
			continue // such as a line that frames are left out
		}
		f := readFrame(lines[i], lines[i+1])
		if fn, created := strings.CutPrefix(f.function, "created by "); created {
			f.function, g.creator, _ = strings.Cut(fn, " in goroutine ")
			creator = f
		} else {
			frames = append(frames, f)
			g.engine = g.engine || f.ofEngine()
		}
		i++
	}
	g.row = g.rowOf(frames)
	if len(frames) == 0 { // Go shows no frames of one that is running
		g.name = "a goroutine, " + g.state
		return g, g.busy()
	}
	at := slices.IndexFunc(frames, frame.ofUser)
	if g.user = at >= 0; g.user {
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

// The rows of docs/virtual-time.md that a reason may refer to.
const (
	rowConnections = "idle connections"
	rowListeners   = "listeners"
	rowDatabases   = "sql.DB"
	rowIO          = "real I/O"
	rowMutexes     = "mutexes"
	rowComputing   = "computations"
	rowChannels    = "channels made outside"
)

// knownRows are the rows for goroutines of the standard library, by the beginning of
// a function's name; the first that fits counts.
var knownRows = [...]struct{ function, row string }{
	{"internal/poll.(*FD).Accept", rowListeners},
	{"net/http.(*conn).serve", rowListeners},
	{"net/http.(*connReader).", rowListeners},
	{"net/http.(*persistConn).", rowConnections},
	{"net/http.(*http2ClientConn).", rowConnections},
	{"net/http.(*http2clientConn", rowConnections},
	{"database/sql.", rowDatabases},
}

// rowOf is the row about a goroutine with these frames. A goroutine that lets the
// clock advance has one only if it is a database's.
func (g tracedGoroutine) rowOf(frames []frame) string {
	for _, known := range knownRows {
		here := func(f frame) bool { return strings.HasPrefix(f.function, known.function) }
		if (!g.durable || known.row == rowDatabases) && slices.ContainsFunc(frames, here) {
			return known.row
		}
	}
	switch {
	case g.durable:
		return ""
	case g.state == "IO wait":
		return rowIO
	case strings.HasPrefix(g.state, "sync."):
		return rowMutexes
	case g.busy():
		return rowComputing
	}
	return rowChannels
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
	return !f.standard()
}

func (f frame) ofRuntime() bool {
	pkg, _, _ := strings.Cut(f.function, ".")
	return pkg == "runtime" || strings.HasPrefix(pkg, "internal/")
}

// standard reports whether the file is one of Go's own: by the folder of the
// runtime, and where paths are trimmed by a first element without a dot.
func (f frame) standard() bool {
	root := standardLibrary()
	if root != "" {
		return strings.HasPrefix(f.file, root)
	}
	first, _, _ := strings.Cut(f.file, "/")
	return !strings.Contains(cmp.Or(first, "."), ".")
}

// standardLibrary is the folder of Go's own packages; empty: paths are trimmed.
func standardLibrary() string { return strings.TrimSuffix(runtimeFile(), "runtime/extern.go") }

// runtimeFile is where the binary says that runtime.Callers is.
func runtimeFile() string {
	var pcs [1]uintptr
	runtime.Callers(0, pcs[:])
	f, _ := runtime.CallersFrames(pcs[:]).Next()
	return f.File
}
