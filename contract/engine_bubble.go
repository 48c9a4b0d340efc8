package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
func (w *worker) executeInBubble(ctx context.Context, r *runner, bubble Bubble) *run {
	cancelled := ctx.Done() // the first call makes the channel: inside, it would belong to the bubble
	asked, answers := r.askFromInside()
	defer close(answers)
	r.userDone = make(chan struct{}, 1)
	var inside atomic.Bool
	ended := w.caller.Start(func() error {
		err := bubble(func() {
			if inside.CompareAndSwap(false, true) {
				r.runInBubble(ctx)
			}
		})
		if err != nil {
			err = &blocked{err}
		}
		return err
	})
	var doneAt, end time.Time // when user code was done, and when the watchdog expires
	for {
		select {
		case err := <-ended:
			return r.afterBubble(ctx, w.caller.Received(err))
		case o := <-asked:
			answers <- w.between(ctx, r.inquiry, o)
		case <-r.userDone:
			if cancelled != nil {
				doneAt, end = time.Now(), w.due
				w.watch(min(time.Until(end), leftover))
			}
		case <-w.watchdog.C:
			left := time.Until(end)
			if cancelled != nil && !doneAt.IsZero() && !r.leftInIO(time.Since(doneAt)) && left > 0 {
				w.watch(min(left, leftover))
				continue
			}
			w.caller.Release()
			return r.abandon(ctx, !doneAt.IsZero())
		case <-cancelled:
			cancelled = nil
			r.close()
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
func (r *runner) askFromInside() (asked chan *Observation, answers chan bool) {
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
func (r *runner) runInBubble(outer context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(outer))
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
}

// blocked is an error of the bubble itself: its goroutines are blocked for good.
type blocked struct{ error }

// afterBubble returns the run of a bubble that has ended with err.
func (r *runner) afterBubble(ctx context.Context, err error) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var stuck *blocked
	switch {
	case err == nil && r.done:
	case err == nil:
		r.fail(errors.New("the bubble did not run the cell to its end"))
	case !errors.As(err, &stuck):
		r.fail(fmt.Errorf("the bubble failed: %w", err))
	case !r.done:
		r.fail(fmt.Errorf("blocked for good, while %s: %w", r.step, err))
		r.result.abandoned = true
	case !r.result.abandoned:
		names, _ := strays(r.bubble)
		r.result.leaked, r.result.abandoned = cmp.Or(names, err.Error()), true
	}
	return r.sum(ctx)
}

// leftInIO reports whether user code left a goroutine in real I/O for at least
// the grace, which is a leak: the bubble cannot end.
func (r *runner) leftInIO(after time.Duration) bool {
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

// abandon gives up waiting for the bubble and returns what is known of the run.
// done says that user code has ended.
func (r *runner) abandon(ctx context.Context, done bool) *run {
	r.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.abandoned, r.result.lingering = true, done && r.result.undecided == nil
	switch why := r.why(usercode.CutWatchdog); {
	case r.result.leaked != "":
	case r.left != "":
		r.fail(fmt.Errorf("%w: %s", why, r.left))
	default:
		r.fail(why)
	}
	return r.sum(ctx)
}

// fail sets why the cell cannot be decided, unless that is set; r.mu is held.
func (r *runner) fail(why error) {
	r.result.undecided = cmp.Or(r.result.undecided, why)
	if r.asking != nil {
		r.asking.Err = fmt.Errorf("%w: %w", ErrTimeout, why)
		r.collect(r.asking)
		r.result.partial, r.asking = r.asking, nil
	}
}

// patience is how much virtual time user code may take; more is a hang, since no
// realistic test waits for a month. It is not a deadline of the context, which
// user code would see. It is short enough for a world with a ticker of a second.
const patience = 30 * 24 * time.Hour

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
	return !f.standard() && !strings.HasPrefix(f.function, module+"chaos.") &&
		!strings.HasPrefix(f.function, module+"chaos/")
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
