package contract_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// piped is a database whose connections are pipes without an answer.
type piped struct{}

func (piped) Connect(context.Context) (driver.Conn, error) {
	near, _ := net.Pipe()
	return &pipedConn{near}, nil
}
func (piped) Driver() driver.Driver { return nil }

type pipedConn struct{ net.Conn }

func (*pipedConn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (*pipedConn) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }

// A leak is something that an agent leaves behind. What was made in a bubble
// cannot be closed from outside, and stays.
type leak struct {
	reason  string
	leave   func(t testing.TB, ctx context.Context) error
	names   string // what the cell says of it, in virtual time
	outside bool   // it waits for something outside of its bubble
}

func leaks() []leak {
	return []leak{
		{"a goroutine that nobody answers", func(testing.TB, context.Context) error {
			never := make(chan int)
			go waitFor(never)
			return nil
		}, "github.com/shakedown-go/shakedown/contract_test.waitFor (leak_test.go:", false},
		{"two of a kind", func(testing.TB, context.Context) error {
			never := make(chan int)
			for range 2 {
				go waitFor(never)
			}
			return nil
		}, "2 of github.com/shakedown-go/shakedown/contract_test.waitFor (leak_test.go:", false},
		{"a database that nobody closes: no function of the user's is left", func(_ testing.TB, ctx context.Context) error {
			conn, err := sql.OpenDB(piped{}).Conn(ctx)
			if err == nil {
				err = conn.Close() // back into the pool
			}
			return err
		}, "database/sql.(*DB).connectionOpener (sql.go:", false},
		{"a connection that somebody still reads", func(testing.TB, context.Context) error {
			near, _ := net.Pipe()
			go readFrom(near)
			return nil
		}, "github.com/shakedown-go/shakedown/contract_test.readFrom (leak_test.go:", false},
		{"a listener that nobody closes", func(t testing.TB, _ context.Context) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				t.Cleanup(func() { l.Close() })
				go acceptFrom(l)
			}
			return err
		}, "github.com/shakedown-go/shakedown/contract_test.acceptFrom (leak_test.go:", true},
	}
}

// awaited is virtual, and has the test wait for the bubbles that its cells left
// behind. A Cleanup that is registered later, and so runs before, must release
// what blocks them.
func awaited(t *testing.T) *contract.RunOptions {
	var under sync.WaitGroup
	t.Cleanup(under.Wait)
	awaiting := func(run func()) (err error) {
		under.Add(1)
		defer under.Done()
		return bubble(t)(run)
	}
	return &contract.RunOptions{Harness: contract.Harness{
		Calm:   awaiting,
		Around: func(_ contract.Cell, run func(contract.Bubble) *contract.CellReport) { run(awaiting) },
	}}
}

func waitFor(c chan int)        { <-c }
func readFrom(c net.Conn)       { _, _ = c.Read(make([]byte, 1)) }
func acceptFrom(l net.Listener) { _, _ = l.Accept() }

// leaving is a matrix whose second trial leaves something behind.
func (l leak) leaving(t testing.TB) *contract.Matrix {
	var mu sync.Mutex
	asked := 0
	return matrix(t, func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		mu.Lock()
		asked++
		second := asked == 2
		mu.Unlock()
		if second {
			return "done", l.leave(t, ctx)
		}
		return "done", nil
	}, func(m *contract.Matrix) { m.Trials = 3 })
}

// TestLeaksNameTheirGoroutine: the cell says what was left, also in real I/O,
// where the clock of its bubble stands still. The others go on.
func TestLeaksNameTheirGoroutine(t *testing.T) {
	for _, l := range leaks() {
		t.Run(l.reason, func(t *testing.T) {
			t.Parallel() // one waits for a watchdog
			o := awaited(t)
			o.Workers = 1
			if l.outside {
				o.Watchdog = 1500 * time.Millisecond // sooner than it would be otherwise
			}
			r := run(t, l.leaving(t), o)
			assert.Equal(t, []contract.CellState{contract.Held, contract.Broken, contract.Held}, states(r))
			c := r.Cells[1]
			assert.Contains(t, c.Why, "the agent or its world left goroutines behind: "+l.names)
			assert.NotContains(t, c.Why, "deadlock", "that is how it was found")
			assert.True(t, c.Abandoned)
			require.NotNil(t, c.Evidence)
			assert.Equal(t, "done", c.Evidence.Response, "it had answered")
		})
	}
}

// TestLeaksInRealTime: there the owner of a goroutine is not known, and nothing
// waits for it. It stays until the test binary ends.
func TestLeaksInRealTime(t *testing.T) {
	for _, l := range leaks() {
		t.Run(l.reason, func(t *testing.T) {
			r := run(t, l.leaving(t), nil)
			assert.Equal(t, []contract.CellState{contract.Held, contract.Held, contract.Held}, states(r))
			assert.Zero(t, r.Abandoned)
		})
	}
}

// TestLeakOfTheFirstWorldIsOneOfItsCells: a world that opens a listener and does
// not close it does not end the matrix.
func TestLeakOfTheFirstWorldIsOneOfItsCells(t *testing.T) {
	t.Parallel() // it waits for watchdogs
	o := awaited(t)
	o.Watchdog = 6 * time.Second // a busy machine needs more than a second to say who holds the bubble
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld = func(context.Context) (*contract.World, error) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { l.Close() })
			go acceptFrom(l)
			return &contract.World{Agent: tellsTime, Tools: clock(t)}, nil
		}
	})
	r := run(t, m, o)
	assert.Equal(t, []contract.CellState{contract.Broken}, states(r))
	assert.Contains(t, r.Cells[0].Why, "contract_test.acceptFrom (leak_test.go:")
	assert.NotContains(t, r.Cells[0].Why, "watchdog")
}

// TestGoroutinesThatMayYetEndAreNoLeak: a goroutine that computes, or waits for
// something that would come if the clock moved, makes the cell inconclusive when
// the watchdog expires. The reason names the goroutine.
func TestGoroutinesThatMayYetEndAreNoLeak(t *testing.T) {
	t.Parallel() // it waits for watchdogs
	o := awaited(t)
	o.Watchdog = 500 * time.Millisecond
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	var held sync.Mutex
	t.Cleanup(held.Unlock) // its holder sleeps for ever
	for _, tc := range []struct {
		reason string
		leave  func()
		names  string
	}{
		{"it had less than a second for its real I/O", func() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if assert.NoError(t, err) {
				t.Cleanup(func() { l.Close() })
				go acceptFrom(l)
			}
		}, "contract_test.acceptFrom \\(leak_test.go:\\d+\\), IO wait$"},
		{"it computes", func() { go compute(stop) }, "contract_test.compute \\(leak_test.go:\\d+\\), run(ning|nable)$"},
		{"it waits for something outside, for a while", func() { go waitAMinute(stop) }, "contract_test.waitAMinute \\(leak_test.go:\\d+\\), select$"},
		{"it waits for a lock whose holder sleeps", func() {
			go holdAMinute(&held)
			time.Sleep(time.Second)
			go lock(&held)
		}, "contract_test.lock \\(leak_test.go:\\d+\\), sync.Mutex.Lock$"},
	} {
		m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) {
			tc.leave()
			return "done", nil
		})
		c := run(t, m, o).Cells[0]
		assert.Equal(t, contract.Inconclusive, c.State, tc.reason)
		assert.Regexp(t, "^the watchdog gave up after 500ms of real time, while waiting for the goroutines it left: .*"+tc.names, c.Why, tc.reason)
		assert.Equal(t, "done", c.Evidence.Response, tc.reason)
	}
}

func compute(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			runtime.Gosched()
		}
	}
}

func waitAMinute(outside chan struct{}) {
	select {
	case <-outside:
	case <-time.After(time.Minute):
	}
}

// holdAMinute allows that the test unlocks for it.
func holdAMinute(mu *sync.Mutex) {
	mu.Lock()
	time.Sleep(time.Minute)
	mu.TryLock()
	mu.Unlock()
}

func lock(mu *sync.Mutex) { mu.Lock(); defer mu.Unlock() }

// TestTracesOfThisGoWork: what this version of Go writes is understood.
func TestTracesOfThisGoWork(t *testing.T) {
	assert.Empty(t, contract.BubbleNumber(), "outside of any bubble")
	synctest.Test(t, func(t *testing.T) {
		assert.Regexp(t, `^\d+$`, contract.BubbleNumber())
	})
}

func TestNamesOfStrays(t *testing.T) {
	const own = "\ngithub.com/shakedown-go/shakedown/contract.(*liveRun).runInBubble(0x1, {0x2, 0x3})\n\t/src/contract/bubble.go:120 +0x1f"
	again := func(functions string) (traces []string) {
		for _, f := range functions {
			traces = append(traces, "goroutine 8 [select (durable), synctest bubble 4]:\na.org/b."+string(f)+"()\n\t/b/f.go:1 +0x1f")
		}
		return traces
	}
	for _, tc := range []struct {
		reason string
		traces []string
		names  string
		inIO   bool
	}{
		{"nobody is left", nil, "", false},
		{"the top function of the user's", []string{
			"goroutine 7 [chan receive (durable), synctest bubble 4]:\nshop.org/desk.(*Poller).loop(0xc0001)\n\t/home/me/desk/poll.go:41 +0x1f\n" +
				"shop.org/desk.Start.func1()\n\t/home/me/desk/poll.go:20 +0x1f\ncreated by shop.org/desk.Start in goroutine 6\n\t/home/me/desk/poll.go:19 +0x1f",
		}, "shop.org/desk.(*Poller).loop (poll.go:41), chan receive", false},
		{"of another bubble, of none, and of the engine", []string{
			"goroutine 7 [select (durable), synctest bubble 44]:\na.org/b.F()\n\t/b/f.go:1 +0x1f",
			"goroutine 8 [select]:\na.org/b.F()\n\t/b/f.go:1 +0x1f",
			"goroutine 9 [sleep (durable), synctest bubble 4]:" + own,
		}, "", false},
		{"minutes, threads, and what else stands between the brackets", []string{
			"goroutine 7 gp=0xc000 m=5 mp=0x1 [IO wait, 12 minutes, locked to thread, synctest bubble 4]:\na.org/b.F(...)\n\t/b/f.go:1",
		}, "a.org/b.F (f.go:1), IO wait", true},
		{"a state in two parts", []string{
			"goroutine 7 [select (no cases) (durable), synctest bubble 4]:\na.org/b.F()\n\t/b/f.go:1 +0x1f",
		}, "a.org/b.F (f.go:1), select (no cases)", false},
		{"while the collector looks at it, with labels", []string{
			"goroutine 7 [runnable (scan), synctest bubble 4 labels:{k: v}]:\na.org/b.F()\n\t/b/f.go:1 +0x1f",
		}, "a.org/b.F (f.go:1), runnable", false},
		{"a folder of another system", []string{
			"goroutine 7 [select (durable), synctest bubble 4]:\na.org/b.F()\n\tC:/Users/me/f.go:1 +0x1f",
		}, "a.org/b.F (f.go:1), select", false},
		{"what freezes the clock goes before what would go on", []string{
			"goroutine 7 [sleep (durable), synctest bubble 4]:\na.org/b.Naps()\n\t/b/f.go:1 +0x1f",
			"goroutine 8 [IO wait, synctest bubble 4]:\na.org/b.Reads()\n\t/b/f.go:2 +0x1f",
		}, "a.org/b.Reads (f.go:2), IO wait", true},
		{"one at work", []string{
			"goroutine 8 [runnable, synctest bubble 4]:\na.org/b.Works()\n\t/b/f.go:2 +0x1f",
			"goroutine 9 [IO wait, synctest bubble 4]:\na.org/b.Reads()\n\t/b/f.go:3 +0x1f",
		}, "a.org/b.Reads (f.go:3), IO wait; a.org/b.Works (f.go:2), runnable", false},
		{"a generic function, left-out frames and an injection point", []string{
			"goroutine 8 [select (durable), synctest bubble 4]:\ngithub.com/shakedown-go/shakedown/chaos.wait({0x1, 0x2}, 0x3)\n\t/s/injector.go:310 +0x1f\n" +
				"...additional frames elided...\na.org/b.Map[...]({0x1, 0x2})\n\t/b/m.go:9 +0x1f",
		}, "a.org/b.Map[...] (m.go:9), select", false},
		{"many", again("FFFABCDGH"), "a.org/b.A (f.go:1), select; a.org/b.B (f.go:1), select; a.org/b.C (f.go:1), select; a.org/b.D (f.go:1), select; " +
			"3 of a.org/b.F (f.go:1), select; and 2 more", false},
		{"no trace at all", []string{"synctest bubble 4", "goroutine x [synctest bubble 4]:\nF()", "goroutine 7 [select, synctest bubble 4]:"}, "", false},
	} {
		names, inIO := contract.NameStrays(strings.Join(tc.traces, "\n\n"), "4")
		assert.Equal(t, tc.names, names, tc.reason)
		assert.Equal(t, tc.inIO, inIO, tc.reason)
	}
}

// FuzzNamesOfStrays: whatever a trace looks like, reading it ends.
func FuzzNamesOfStrays(f *testing.F) {
	f.Add("goroutine 7 [chan receive (durable), synctest bubble 4]:\na.org/b.F(0x1)\n\t/b/f.go:1 +0x1f\ncreated by a.org/b.G in goroutine 6\n\t/b/f.go:2 +0x1f")
	f.Add("goroutine 7 [IO wait, 2 minutes, synctest bubble 4]:\n(\n\t:\ncreated by \n\t")
	f.Fuzz(func(t *testing.T, traces string) {
		names, _ := contract.NameStrays(traces, "4")
		if !strings.Contains(traces, "bubble 4") {
			assert.Empty(t, names)
		}
		assert.LessOrEqual(t, len(names), 2*len(traces)+100*6)
	})
}
