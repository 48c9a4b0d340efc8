package contracttest_test

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// These tests hold the claims of docs/worlds.md.

// doing is a matrix whose agent does one thing, in two cells.
func doing(what func(ctx context.Context) error) *contract.Matrix {
	return &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				return "done", what(ctx)
			}}, nil
		},
		Prompts:    []string{"go"},
		Invariants: []contract.Invariant{{Name: "done", Severity: contract.High, Check: func(context.Context, *contract.Observation) error { return nil }}},
		Scenarios:  []contract.Scenario{contract.Calm()},
		Trials:     2,
	}
}

func TestWhatWorksInVirtualTime(t *testing.T) {
	for name, what := range map[string]func(context.Context) error{
		"waiting for days": func(context.Context) error { time.Sleep(20 * 24 * time.Hour); return nil },
		"timers, tickers and time-outs": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			ticker := time.NewTicker(time.Minute)
			defer ticker.Stop()
			for ticks := 0; ; ticks++ {
				select {
				case <-ticker.C:
				case <-ctx.Done():
					if ticks < 59 {
						return fmt.Errorf("%d ticks", ticks)
					}
					return nil
				}
			}
		},
		"goroutines, channels and wait groups of its own": func(context.Context) error {
			var all sync.WaitGroup
			results := make(chan int)
			for i := range 3 {
				all.Go(func() { time.Sleep(time.Hour); results <- i })
			}
			go func() { all.Wait(); close(results) }()
			sum := 0
			for r := range results {
				sum += r
			}
			if sum != 3 {
				return fmt.Errorf("sum %d", sum)
			}
			return nil
		},
		"a network in memory":      overPipe,
		"database/sql over memory": overSQL,
	} {
		t.Run(name, func(t *testing.T) {
			contracttest.AssertPassed(t, contracttest.Run(t, doing(what), nil))
		})
	}
}

// overPipe speaks over net.Pipe, whose ends block on channels.
func overPipe(context.Context) error {
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		defer server.Close()
		time.Sleep(time.Hour)
		fmt.Fprintln(server, "hello")
	}()
	if err := client.SetDeadline(time.Now().Add(2 * time.Hour)); err != nil {
		return err
	}
	_, err := bufio.NewReader(client).ReadString('\n')
	return err
}

// overSQL opens a database inside the cell and closes it there; its pool lets
// one caller wait for the other.
func overSQL(ctx context.Context) error {
	db := sql.OpenDB(memory{})
	defer db.Close()
	db.SetMaxOpenConns(1)
	first, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	time.AfterFunc(time.Hour, func() { first.Close() })
	second, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	return second.Close()
}

// memory is a database without I/O.
type memory struct{}

func (memory) Connect(context.Context) (driver.Conn, error) { return memory{}, nil }
func (memory) Driver() driver.Driver                        { return nil }
func (memory) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (memory) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (memory) Close() error                                 { return nil }

// TestContextOfTheTestMayBeAskedFor: Run calls Done of the test's context before any
// cell does, so that the end of the test does not end the process.
func TestContextOfTheTestMayBeAskedFor(t *testing.T) {
	t.Run("inner", func(t *testing.T) {
		contracttest.Run(t, doing(func(context.Context) error { _ = t.Context().Done(); return nil }), nil)
	})
}

func TestTimeIsTheCellsOwn(t *testing.T) {
	r := contracttest.Run(t, doing(func(context.Context) error {
		if now := time.Now().UTC().Year(); now != 2000 {
			return fmt.Errorf("the year is %d", now)
		}
		time.Sleep(time.Hour)
		return nil
	}), &contracttest.Options{KeepAll: true})
	assert.Equal(t, time.Hour, r.Cells[0].Evidence.Elapsed)
}

// TestChildFreezes: each of these keeps the clock of its bubble from moving,
// until the watchdog gives the cell up.
func TestChildFreezes(t *testing.T) {
	onlyInChild(t)
	made := make(chan int)
	outside, cancel := context.WithCancel(t.Context())
	defer cancel()
	_ = outside.Done() // if it were first called inside, the channel would belong to that bubble
	silent := listenSilently(t)
	for name, what := range map[string]func(context.Context) error{
		"a channel made outside": func(context.Context) error {
			select {
			case <-made:
			case <-time.After(time.Second):
			}
			return nil
		},
		"a context made outside": func(context.Context) error {
			ctx, cancel := context.WithTimeout(outside, time.Second)
			defer cancel()
			select {
			case <-outside.Done():
			case <-ctx.Done():
			}
			return nil
		},
		"a mutex held across a wait": func(context.Context) error {
			var mu sync.Mutex
			mu.Lock()
			go func() { time.Sleep(time.Second); mu.Unlock() }()
			mu.Lock()
			return nil
		},
		"real input and output": func(ctx context.Context) error {
			client := &http.Client{Timeout: time.Second, Transport: &http.Transport{}}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, silent, nil)
			if err != nil {
				return err
			}
			_, err = client.Do(request)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := doing(what)
			m.Trials = 1
			m.AllowInconclusive = 1
			r := contracttest.Run(t, m, &contracttest.Options{Watchdog: time.Second})
			t.Logf("%s: %s", name, r.Cells[0].Why)
		})
	}
}

// listenSilently is an endpoint that takes connections and never answers.
func listenSilently(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestWhatFreezesABubble(t *testing.T) {
	out, _ := child(t, "^TestChildFreezes$")
	const agent = `github\.com/shakedown-go/shakedown/contract/contracttest_test\.TestChildFreezes\.func\d+ \(virtual_test\.go:\d+\), `
	for name, holder := range map[string]string{
		"a channel made outside":     agent + `select`,
		"a context made outside":     agent + `select`,
		"a mutex held across a wait": agent + `sync\.Mutex\.Lock`,
		"real input and output":      `net\.\(\*netFD\)\.Read \(fd_posix\.go:\d+\), IO wait, started by .*`,
	} {
		assert.Regexp(t, name+": the watchdog gave up after 1s of real time, while the agent was answering; what kept the clock from moving: "+holder, out)
	}
}

// deadlyVariable says what TestChildDies does.
const deadlyVariable = "CONTRACTTEST_DEADLY"

// TestChildDies does a thing that ends the whole process.
func TestChildDies(t *testing.T) {
	onlyInChild(t)
	run := func(trials, workers int, what func(ctx context.Context) error) {
		m := doing(what)
		m.Trials = trials
		contracttest.Run(t, m, &contracttest.Options{Workers: workers})
	}
	switch os.Getenv(deadlyVariable) {
	case "using a cell's context after its cell":
		var kept context.Context
		run(2, 1, func(ctx context.Context) error { kept = ctx; return nil })
		<-kept.Done()
	case "cancelling a context that a cell was the first to wait for":
		ctx, cancel := context.WithCancel(t.Context())
		run(2, 1, func(context.Context) error { _ = ctx.Done(); return nil })
		cancel()
	case "a channel of one cell in another":
		var once sync.Once
		var pool chan int // made on first use
		run(2, 1, func(context.Context) error {
			once.Do(func() { pool = make(chan int, 10) })
			pool <- 1
			return nil
		})
	case "a wait group used outside and inside":
		s := new(shared)
		s.work.Add(1)
		run(2, 1, func(context.Context) error { s.work.Go(func() {}); return nil })
	case "a panic on a goroutine that the agent started":
		run(2, 0, func(context.Context) error {
			done := make(chan struct{})
			go func() { defer close(done); panic("boom") }()
			<-done
			return nil
		})
	case "a shared client that is not wrapped":
		server := shop(t)
		run(8, 4, func(ctx context.Context) error {
			var err error
			for i := 0; i < 1000 && err == nil; i++ {
				err = fetch(ctx, http.DefaultClient, server.URL)
			}
			return err
		})
	case "lookups of one resolver in two cells at a time": // Go joins equal ones
		run(8, 4, func(ctx context.Context) error {
			var err error
			for i := 0; i < 5000 && err == nil; i++ {
				_, err = net.DefaultResolver.LookupIPAddr(ctx, "localhost")
			}
			return err
		})
	case "a signal for a cell":
		run(2, 0, func(context.Context) error {
			c := make(chan os.Signal, 1)
			signal.Notify(c, os.Interrupt)
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Signal(os.Interrupt)
			}
			for err == nil {
				select {
				case <-c:
					return nil
				default:
					runtime.Gosched()
				}
			}
			return err
		})
	}
	t.Log("went on")
}

// shared is a wait group of the whole package.
type shared struct{ work sync.WaitGroup }

func TestWhatKillsTheProcess(t *testing.T) {
	for _, row := range [][2]string{
		{"using a cell's context after its cell", "receive on synctest channel from outside bubble"},
		{"cancelling a context that a cell was the first to wait for", "close of synctest channel from outside bubble"},
		{"a channel of one cell in another", "send on synctest channel from outside bubble"},
		{"a wait group used outside and inside", "sync: WaitGroup"},
		{"a panic on a goroutine that the agent started", "panic: boom"},
		{"a shared client that is not wrapped", "send on synctest channel from outside bubble"},
		{"lookups of one resolver in two cells at a time", "send on synctest channel from outside bubble"},
		{"a signal for a cell", "send on synctest channel from outside bubble"},
	} {
		if runtime.GOOS == "windows" && row[0] == "a signal for a cell" {
			continue // a process cannot interrupt itself there
		}
		t.Setenv(deadlyVariable, row[0])
		out, failed := child(t, "^TestChildDies$")
		assert.True(t, failed, row[0])
		assert.Contains(t, out, row[1], row[0])
		assert.NotContains(t, out, "went on", row[0])
	}
}

// TestRealTimeLiftsTheRules: the same worlds in real time.
func TestRealTimeLiftsTheRules(t *testing.T) {
	var once sync.Once
	var pool chan int
	r := contracttest.Run(t, doing(func(context.Context) error {
		once.Do(func() { pool = make(chan int, 10) })
		pool <- 1
		return nil
	}), &contracttest.Options{RealTime: true})
	contracttest.AssertPassed(t, r)
}

// TestWhichCellsAreInVirtualTime: those whose worlds are made for each of them, by the
// matrix or by the scenario, in Run and in RunCell.
func TestWhichCellsAreInVirtualTime(t *testing.T) {
	world := func() *contract.World {
		return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			return fmt.Sprint(time.Now().Year() == 2000), nil // where the clock of a bubble begins
		}}
	}
	fresh := func(context.Context) (*contract.World, error) { return world(), nil }
	for _, tc := range []struct {
		why           string
		matrix        contract.Matrix
		o             *contracttest.Options
		wants, andOwn string // whether plain cells, and those of a scenario with its own worlds, are in virtual time
	}{
		{"fresh worlds", contract.Matrix{NewWorld: fresh}, nil, "true", "true"},
		{"a shared world was made outside", contract.Matrix{World: world()}, nil, "false", "true"},
		{"a shared world that is reset, too", contract.Matrix{World: world(), Reset: func(context.Context) error { return nil }}, nil, "false", "true"},
		{"real time was asked for", contract.Matrix{NewWorld: fresh}, &contracttest.Options{RealTime: true}, "false", "false"},
	} {
		m := tc.matrix
		m.Prompts = []string{"in virtual time?"}
		m.Scenarios = []contract.Scenario{contract.Calm(), {Name: "own", NewWorld: fresh}}
		m.Invariants = []contract.Invariant{{Name: "as-said", Severity: contract.High, Needs: contract.NeedBaseline,
			Check: func(_ context.Context, o *contract.Observation) error {
				want := tc.wants
				if o.Cell.Scenario == "own" {
					want = tc.andOwn
				}
				if o.Response != want || o.Baseline != want {
					return fmt.Errorf("virtual time: %s, and %s in the calm run", o.Response, o.Baseline)
				}
				return nil
			}}}
		t.Run(tc.why, func(t *testing.T) {
			contracttest.Run(t, &m, tc.o)
			for _, c := range m.Cells() {
				r := contracttest.RunCell(t, &m, c, tc.o)
				assert.Equal(t, contract.Held, r.State, "%v: %s", c, r.Why)
			}
		})
	}
}
