package contract_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// silent is the address of a server that answers nothing and closes no connection.
func silent(t *testing.T) string {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() }) // until then nobody else holds it: the collector of garbage would close it
		}
	}()
	return server.Addr().String()
}

// inRounds is a matrix of three cells, whose agent does one thing and counts how often.
func inRounds(t *testing.T, asked *atomic.Int64, what func(context.Context) error) *contract.Matrix {
	return matrix(t, func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		asked.Add(1)
		return "done", what(ctx)
	}, func(m *contract.Matrix) { m.Trials = 3 })
}

// A cell whose clock nothing but real I/O keeps from moving is given up long before the
// watchdog, and so are those that would follow it. None of that is the agent's fault.
func TestABubbleThatIOHoldsEndsTheRun(t *testing.T) {
	address := silent(t)
	var asked atomic.Int64
	m := inRounds(t, &asked, func(context.Context) error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		time.Sleep(time.Hour)
		return conn.Close()
	})
	o := contract.WithIOPatience(virtual(t), 200*time.Millisecond)
	o.Workers = 1
	r := run(t, m, o)
	const why = "real I/O alone has held the clock for 200ms of real time, while the agent was answering; what kept the clock from moving: "
	require.Len(t, r.Cells, 3)
	for i, c := range r.Cells {
		assert.Equal(t, contract.Inconclusive, c.State)
		begins := why
		if i > 0 {
			begins = "it was not run, for the reason of an earlier run in virtual time: " + why
		}
		assert.Truef(t, strings.HasPrefix(c.Why, begins), "cell %d: %s", i, c.Why)
		assert.Contains(t, c.Why, "IO wait")
		assert.False(t, c.Abandoned, "the agent would have ended")
	}
	first := r.Cells[0].Evidence
	require.NotNil(t, first)
	assert.ErrorIs(t, first.Err, contract.ErrTimeout)
	assert.Equal(t, r.Cells[0].Why, first.Err.Error(), "the answer is not said to be late")
	assert.EqualValues(t, 1, asked.Load(), "the other cells were not run")
	assert.Zero(t, r.Abandoned)
}

// A cell that computes is slow and not frozen, whatever waits for I/O beside it.
func TestABubbleThatComputesIsNotHeldByIO(t *testing.T) {
	address := silent(t)
	const patience = 80 * time.Millisecond
	var asked atomic.Int64
	enough := func() *atomic.Bool { // made outside of the bubbles, where time is real
		var over atomic.Bool
		time.AfterFunc(4*patience, func() { over.Store(true) })
		return &over
	}()
	m := inRounds(t, &asked, func(context.Context) error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		read := make(chan struct{})
		go func() { defer close(read); _, _ = io.Copy(io.Discard, conn) }()
		for !enough.Load() {
			_ = strings.Repeat("x", 1<<10)
		}
		err = conn.Close()
		<-read
		return err
	})
	o := contract.WithIOPatience(virtual(t), patience)
	o.Workers = 1
	r := run(t, m, o)
	assert.Equal(t, []contract.CellState{contract.Held, contract.Held, contract.Held}, states(r), "%v", r.Cells[0].Why)
}

// A run ends before its host ends the process, whatever holds a cell and in both kinds of
// time.
func TestTheWatchdogStaysUnderTheDeadline(t *testing.T) {
	never := make(chan struct{})
	for _, tt := range []struct {
		name string
		o    *contract.RunOptions
		why  string
	}{
		{"in virtual time", virtual(t), "; what kept the clock from moving: "},
		{"in real time", &contract.RunOptions{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int64
			m := inRounds(t, &asked, func(context.Context) error { <-never; return nil })
			m.Timeout = time.Hour // in real time beyond the watchdog
			tt.o.Workers = 1
			tt.o.Harness.Deadline = time.Now().Add(400 * time.Millisecond)
			r := run(t, m, tt.o)
			assert.Equal(t, []contract.CellState{contract.Inconclusive, contract.Inconclusive, contract.Inconclusive}, states(r))
			assert.Regexp(t, `^the watchdog gave up after \d+ms of real time, while the agent was answering`+tt.why, r.Cells[0].Why)
			assert.Equal(t, "it was not run: the rest of the time until the deadline of the tests is for the report", r.Cells[2].Why)
			assert.EqualValues(t, 1, asked.Load())
		})
	}
}

// The same I/O must have been seen at each of eight looks, and for the whole time.
func TestStillness(t *testing.T) {
	begin := time.Now()
	for _, tt := range []struct {
		why  string
		seen func(look int) string
		want int // the look that decides; 0: none of 40
	}{
		{"all the time", func(int) string { return "7 " }, 20},
		{"another connection at the tenth look", func(n int) string { return []string{"7 ", "8 "}[min(n/10, 1)] }, 30},
		{"two that alternate: something happens", func(n int) string { return []string{"7 ", "8 "}[n%2] }, 0},
		{"something else holds the clock at times", func(n int) string { return []string{"7 ", ""}[n/15%2] }, 0},
		{"nothing", func(int) string { return "" }, 0},
	} {
		var s contract.Stillness
		decided := 0
		for n := 0; n < 40 && decided == 0; n++ {
			if s.Look(begin.Add(time.Duration(n)*time.Second), tt.seen(n), 20*time.Second) {
				decided = n
			}
		}
		assert.Equal(t, tt.want, decided, tt.why)
	}
	var late contract.Stillness
	for n := range contract.Looks {
		assert.False(t, late.Look(begin.Add(time.Duration(n)*time.Hour), "7 ", 20*time.Second), "too few looks: the machine is busy")
	}
	assert.True(t, late.Look(begin.Add(contract.Looks*time.Hour), "7 ", 20*time.Second))
}

func TestWhatIOAloneHolds(t *testing.T) {
	const user = "\na.org/b.Agent()\n\t/b/f.go:1 +0x1f"
	const looks = "goroutine 1 [running]:" + user
	startedBy := func(number string) string {
		return "\ncreated by a.org/b.Start in goroutine " + number + "\n\t/b/f.go:7 +0x1f"
	}
	reads := "goroutine 8 [IO wait, synctest bubble 4]:" + user
	for _, tc := range []struct {
		reason string
		traces []string
		who    string
	}{
		{"nothing", nil, ""},
		{"a goroutine that reads", []string{reads}, "8 "},
		{"the agent itself, on the engine's goroutine", []string{reads + loopFrames}, "8 "},
		{"two, and one that lets the clock advance", []string{reads, "goroutine 9 [sleep (durable), synctest bubble 4]:" + user,
			"goroutine 11 [IO wait, synctest bubble 4]:" + user}, "8 11 "},
		{"one that computes beside it", []string{reads, "goroutine 9 [runnable, synctest bubble 4]:" + user}, ""},
		{"one that computes, of which Go shows no frames", []string{reads,
			"goroutine 9 [running, synctest bubble 4]:\n\tgoroutine running on other thread; stack unavailable"}, ""},
		{"the engine works", []string{reads, "goroutine 9 [running, synctest bubble 4]:" + loopFrames}, ""},
		{"a channel made outside", []string{reads, "goroutine 9 [chan receive, synctest bubble 4]:" + user}, ""},
		{"a lock", []string{"goroutine 9 [sync.Mutex.Lock, synctest bubble 4]:" + user}, ""},
		{"a goroutine outside", []string{looks, reads, "goroutine 9 [runnable]:" + user + startedBy("1")}, "8 "},
		{"the one that looks, whoever started it", []string{"goroutine 9 [running]:" + user + startedBy("2"), reads}, "8 "},
		{"one that helps the garbage collector, for which Go takes it out of its bubble",
			[]string{looks, reads, "goroutine 9 [GC assist wait]:" + user + startedBy("8")}, ""},
		{"one that begins a collection", []string{looks, reads, "goroutine 9 [semacquire]:" + user + startedBy("8")}, ""},
		{"one that was started by such a one", []string{looks, "goroutine 10 [runnable]:" + user + startedBy("9"),
			"goroutine 9 [runnable]:" + user + startedBy("8"), reads}, ""},
		{"a syscall is no help to the collector", []string{looks, reads, "goroutine 9 [syscall]:" + user + startedBy("2")}, "8 "},
		{"one that waits outside", []string{looks, reads, "goroutine 9 [select]:" + user + startedBy("8")}, "8 "},
		{"nobody knows where it belongs: who started it has ended", []string{looks, reads, "goroutine 9 [runnable]:" + user + startedBy("2")}, ""},
		{"another bubble", []string{"goroutine 9 [IO wait, synctest bubble 5]:" + user}, ""},
		{"a state that nobody knows", []string{reads, "goroutine 9 [pondering, synctest bubble 4]:" + user}, ""},
		{"traces of another form", []string{"fiber 8 <reads> of bubble 4" + user}, ""},
	} {
		_, who := contract.NameHolders(strings.Join(tc.traces, "\n\n"), "4")
		assert.Equal(t, tc.who, who, tc.reason)
	}
}

// What the engine's goroutines look like: the one that runs user code, and the first
// of the bubble.
const (
	loopFrames = "\ngithub.com/shakedown-go/shakedown/contract.(*liveRun).answer.func1()\n\t/s/contract/runner.go:226 +0x1f" +
		"\ngithub.com/shakedown-go/shakedown/internal/usercode.run(0x1, 0x2)\n\t/s/internal/usercode/run.go:38 +0x1f" +
		"\ngithub.com/shakedown-go/shakedown/internal/usercode.(*server).serve(0x1)\n\t/s/internal/usercode/loop.go:28 +0x1f"
	firstFrames = "\ngithub.com/shakedown-go/shakedown/internal/usercode.(*Loop).Call(0x1)\n\t/s/internal/usercode/call.go:110 +0x1f" +
		"\ngithub.com/shakedown-go/shakedown/contract.(*liveRun).runInBubble(0x1)\n\t/s/contract/bubble.go:80 +0x1f"
)

// inStandardLibrary is a frame of Go's own code, which is no user's.
func inStandardLibrary(function, file string) string {
	return "\n" + function + "(0x1)\n\t" + contract.StandardLibrary() + file + ":1 +0x1f"
}

func TestNamesOfHolders(t *testing.T) {
	std := inStandardLibrary
	for _, tc := range []struct {
		reason string
		traces []string
		want   string
	}{
		{"nothing", nil, ""},
		{"all that waits lets the clock advance", []string{
			"goroutine 7 [select (durable), synctest bubble 4]:" + firstFrames,
			"goroutine 8 [sleep (durable), synctest bubble 4]:\na.org/b.Agent()\n\t/b/f.go:1 +0x1f" + loopFrames,
		}, ""},
		{"the agent itself, on the engine's goroutine", []string{
			"goroutine 7 [select (durable), synctest bubble 4]:" + firstFrames,
			"goroutine 8 [chan receive, synctest bubble 4]:\na.org/b.Agent()\n\t/b/f.go:1 +0x1f" + loopFrames,
		}, "a.org/b.Agent (f.go:1), chan receive"},
		{"the engine between two steps is not user code", []string{
			"goroutine 8 [runnable, synctest bubble 4]:" + loopFrames,
			"goroutine 7 [chan receive, synctest bubble 4]:" + firstFrames,
		}, ""},
		{"another bubble", []string{"goroutine 8 [IO wait, synctest bubble 5]:\na.org/b.Agent()\n\t/b/f.go:1 +0x1f"}, ""},
		{"an idle connection", []string{
			"goroutine 8 [IO wait, synctest bubble 4]:" + std("internal/poll.runtime_pollWait", "runtime/netpoll.go") + std("net.(*netFD).Read", "net/fd_posix.go") +
				std("net/http.(*persistConn).readLoop", "net/http/transport.go") + "\ncreated by net/http.(*Transport).dialConn in goroutine 6\n\t" +
				contract.StandardLibrary() + "net/http/transport.go:1994 +0x1f",
		}, "net.(*netFD).Read (fd_posix.go:1), IO wait, started by net/http.(*Transport).dialConn (transport.go:1994)"},
		{"a listener, and a lock: in alphabetical order, each once", []string{
			"goroutine 8 [IO wait, synctest bubble 4]:" + std("internal/poll.(*FD).Accept", "internal/poll/fd_unix.go") + "\na.org/b.Serve()\n\t/b/f.go:1 +0x1f",
			"goroutine 9 [IO wait, synctest bubble 4]:" + std("internal/poll.(*FD).Accept", "internal/poll/fd_unix.go") + "\na.org/b.Serve()\n\t/b/f.go:1 +0x1f",
			"goroutine 10 [sync.Mutex.Lock, synctest bubble 4]:\na.org/b.Locks()\n\t/b/f.go:2 +0x1f",
			"goroutine 11 [running, synctest bubble 4]:\na.org/b.Works()\n\t/b/f.go:3 +0x1f",
		}, "a.org/b.Locks (f.go:2), sync.Mutex.Lock; 2 of a.org/b.Serve (f.go:1), IO wait; a.org/b.Works (f.go:3), running"},
	} {
		names, _ := contract.NameHolders(strings.Join(tc.traces, "\n\n"), "4")
		assert.Equal(t, tc.want, names, tc.reason)
	}
}
