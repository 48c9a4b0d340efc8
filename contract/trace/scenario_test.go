package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// service is a minute of requests, one a second, each a call of api, which calls
// db with at most two at a time and retries up to four times.
func service(ctx context.Context, c *trace.Conditions) error {
	slots := make(chan struct{}, c.Limit(2))
	db := chaos.Wrap("db.query", func(context.Context, int) (int, error) {
		time.Sleep(300 * ms)
		return 0, nil
	})
	api := chaos.Wrap("api", func(ctx context.Context, n int) (int, error) {
		slots <- struct{}{}
		defer func() { <-slots }()
		for attempt := 1; ; attempt++ {
			_, err := db(ctx, n)
			if err == nil || attempt == 4 {
				return 0, err
			}
			time.Sleep(c.RetryDelay(400 * ms))
		}
	})
	var requests sync.WaitGroup
	for n := range 60 {
		requests.Go(func() { _, _ = api(chaos.WithLane(ctx, fmt.Sprintf("web/%d", n)), n) })
		time.Sleep(sec)
	}
	requests.Wait()
	return nil
}

// lab is a store in virtual time with a workload.
func lab(t *testing.T, run func(context.Context, *trace.Conditions) error) *trace.Runs {
	return newRuns(t, &trace.RunsOptions{Workload: &trace.Workload{Run: run, VirtualTime: true}})
}

func flaky(t *testing.T, seed uint64) *chaos.Plan {
	plan, err := chaos.NewPlan(seed, chaos.Rule{Name: "flaky", Target: "db.*", When: when.Prob(0.3), Fault: fault.Fail(fault.ErrUnavailable)})
	require.NoError(t, err)
	return plan
}

func outage(node string, start, bins int) trace.Parameters {
	return trace.Parameters{OutageInjection: &trace.OutageInjection{NodeID: node, Start: timeline.Bin(start), DurationBins: bins}}
}

func scenario(t *testing.T, s *trace.Runs, base string, p trace.Parameters) (trace.Result, *timeline.Run) {
	t.Helper()
	r, err := s.RunScenario(t.Context(), trace.ScenarioRequest{BaseRunID: base, Label: "what if", Parameters: p})
	require.NoError(t, err)
	e, ok := s.Get(r.RunID)
	require.True(t, ok)
	return r, e.Timeline
}

func series(t *testing.T, r *timeline.Run) string {
	w, err := r.StateWindow(timeline.Query{})
	require.NoError(t, err)
	text, err := json.Marshal(w)
	require.NoError(t, err)
	return string(text)
}

func TestTheSameSeedGivesTheSameSeries(t *testing.T) {
	two, half := 2.0, 0.5
	for name, p := range map[string]trace.Parameters{
		"capacity": {CapacityMultiplier: &half}, "retry delay": {RetryDelayMultiplier: &two}, "nothing": {},
		"outage": outage("db.query", 20, 10),
		"all":    {CapacityMultiplier: &half, RetryDelayMultiplier: &two, OutageInjection: outage("db.query", 20, 10).OutageInjection},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for seed := range uint64(3) {
					s := lab(t, service)
					base, err := s.RunBaseline(t.Context(), "as it is", flaky(t, seed))
					require.NoError(t, err)
					baseline, _ := s.Get(base.RunID)
					first, a := scenario(t, s, base.RunID, p)
					time.Sleep(time.Hour + 7*ms) // whenever it is run
					second, b := scenario(t, s, base.RunID, p)
					assert.Equal(t, series(t, a), series(t, b))
					assert.Equal(t, seed, first.Seed)
					assert.True(t, first.Repeats)
					assert.NotEqual(t, first.RunID, second.RunID)
					assert.Equal(t, name == "nothing", series(t, baseline.Timeline) == series(t, a), "the parameters did something")
					assert.Equal(t, baseline.Timeline.Epoch(), a.Epoch(), "on the time axis of its baseline")
				}
			})
		})
	}
}

func TestAnInjectedOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lab(t, service)
		base, err := s.RunBaseline(t.Context(), "calm", nil)
		require.NoError(t, err)
		_, run := scenario(t, s, base.RunID, outage("db.query", 20, 10))
		db := timeline.Query{Nodes: []string{"db.query"}}
		incidents, err := run.DetectOutages(db, timeline.OutageRule{})
		require.NoError(t, err)
		require.NotEmpty(t, incidents)
		assert.Equal(t, 20, incidents[0].StartBin)
		w, err := run.StateWindow(db, timeline.Served)
		require.NoError(t, err)
		assert.Equal(t, make([]timeline.Value, 10), w.Series[0].Metrics[timeline.Served][20:30])
	})
}

func TestAnOutageMovesNoOtherDraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lab(t, service)
		base, err := s.RunBaseline(t.Context(), "flaky", flaky(t, 3))
		require.NoError(t, err)
		e, _ := s.Get(base.RunID)
		_, run := scenario(t, s, base.RunID, outage("db.query", 40, 5))
		before := timeline.Query{Nodes: []string{"db.query"}, End: timeline.Bin(39)}
		a, err := e.Timeline.StateWindow(before)
		require.NoError(t, err)
		b, err := run.StateWindow(before)
		require.NoError(t, err)
		assertSameWindow(t, a, b)
	})
}

func TestTheStartOfAnOutageMayBeATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lab(t, service)
		base, err := s.RunBaseline(t.Context(), "calm", nil)
		require.NoError(t, err)
		e, _ := s.Get(base.RunID)
		p := outage("db.query", 20, 10)
		_, a := scenario(t, s, base.RunID, p)
		p.OutageInjection.Start = timeline.At(e.Timeline.Epoch().Add(20*sec + 400*ms))
		r, b := scenario(t, s, base.RunID, p)
		assert.Equal(t, series(t, a), series(t, b), "the bin that it falls in")
		again, _ := scenario(t, s, r.RunID, outage("db.query", 5, 1))
		assert.Empty(t, again.Notes, "a scenario can be varied, too: its outage is replaced")
	})
}

func TestParametersThatAreNotRead(t *testing.T) {
	two := 2.0
	deaf := func(ctx context.Context, _ *trace.Conditions) error {
		_ = chaos.Point(ctx, "a")
		return nil
	}
	once := false
	fickle := func(ctx context.Context, c *trace.Conditions) error { // calls b the first time only
		c.Limit(3)
		if !once {
			once = true
			_ = chaos.Point(ctx, "b")
		}
		return chaos.Point(ctx, "a")
	}
	synctest.Test(t, func(t *testing.T) {
		s := lab(t, deaf)
		base, err := s.RunBaseline(t.Context(), "deaf", nil)
		require.NoError(t, err, "nothing was asked of it")
		r, err := s.RunScenario(t.Context(), trace.ScenarioRequest{BaseRunID: base.RunID, Parameters: trace.Parameters{CapacityMultiplier: &two, RetryDelayMultiplier: &two}})
		require.ErrorIs(t, err, trace.ErrUnread)
		assert.EqualError(t, err, `trace: parameters is "capacityMultiplier, retryDelayMultiplier": the workload read none of the parameters`)
		assert.Equal(t, trace.StateFailed, r.State)
		assert.Equal(t, err.Error(), r.Error)
		e, _ := s.Get(r.RunID)
		assert.Equal(t, trace.StateFailed, e.State, "the list says so")
		_, err = s.RunScenario(t.Context(), trace.ScenarioRequest{BaseRunID: r.RunID})
		assert.ErrorContains(t, err, "allowed: a run that is done; this one is failed")

		r, _ = scenario(t, s, base.RunID, outage("a", 0, 1))
		assert.Empty(t, r.Unread, "the outage needs no reader, only calls")

		s = lab(t, fickle)
		base, err = s.RunBaseline(t.Context(), "fickle", nil)
		require.NoError(t, err)
		p := outage("b", 0, 1)
		p.CapacityMultiplier = &two
		r, _ = scenario(t, s, base.RunID, p)
		assert.Equal(t, []string{"outageInjection"}, r.Unread, "one of two is said, not failed")
		assert.Equal(t, []string{"the outage matched no call: none to b began in it"}, r.Notes)
		_, err = s.RunScenario(t.Context(), trace.ScenarioRequest{BaseRunID: base.RunID, Parameters: outage("b", 0, 1)})
		assert.ErrorIs(t, err, trace.ErrUnread)
	})
}

func TestRequestsThatAreRefused(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	nan := number(0)
	*nan /= *nan
	synctest.Test(t, func(t *testing.T) {
		s := lab(t, service)
		base, err := s.RunBaseline(t.Context(), "calm", nil)
		require.NoError(t, err)
		for _, tt := range []struct {
			why  string
			base string
			p    trace.Parameters
			want string
		}{
			{"no such run", "nobody", trace.Parameters{}, `trace: baseRunId is "nobody": no such run is kept; allowed: an id of get_runs`},
			{"no capacity", base.RunID, trace.Parameters{CapacityMultiplier: number(0)}, "trace: parameters.capacityMultiplier is 0; allowed: above 0, at most 1000"},
			{"too much", base.RunID, trace.Parameters{CapacityMultiplier: number(1001)}, "parameters.capacityMultiplier is 1001"},
			{"not a number", base.RunID, trace.Parameters{CapacityMultiplier: nan, RetryDelayMultiplier: nan}, "trace: parameters.retryDelayMultiplier is NaN; allowed: 0 to 1000"},
			{"a negative delay", base.RunID, trace.Parameters{RetryDelayMultiplier: number(-1)}, "trace: parameters.retryDelayMultiplier is -1; allowed: 0 to 1000"},
			{"a node that was not called", base.RunID, outage("cache", 1, 1), `trace: parameters.outageInjection.nodeId is "cache"; allowed: a node that was called: api, db.query`},
			{"the agent itself", base.RunID, outage("agent", 1, 1), `nodeId is "agent"`},
			{"after the end", base.RunID, outage("api", 61, 1), `trace: parameters.outageInjection.start is "61"; allowed: bin 0 to 59 of the run being varied, or a time in it`},
			{"before the beginning", base.RunID, outage("api", -1, 1), `start is "-1"`},
			{"no start", base.RunID, trace.Parameters{OutageInjection: &trace.OutageInjection{NodeID: "api", DurationBins: 1}}, `start is ""`},
			{"no length", base.RunID, outage("api", 1, 0), "trace: parameters.outageInjection.durationBins is 0; allowed: 1 to 1048576"},
		} {
			_, err := s.RunScenario(t.Context(), trace.ScenarioRequest{BaseRunID: tt.base, Parameters: tt.p})
			assert.ErrorContains(t, err, tt.want, tt.why)
		}
		assert.Len(t, s.List(), 1, "nothing was run")
		_, err = s.Wait(t.Context(), "nobody")
		assert.ErrorIs(t, err, trace.ErrUnknownRun)
		_, err = newRuns(t, nil).RunBaseline(t.Context(), "", nil)
		assert.ErrorIs(t, err, trace.ErrNoWorkload)
		_, err = newRuns(t, nil).RunScenario(t.Context(), trace.ScenarioRequest{})
		assert.ErrorIs(t, err, trace.ErrNoWorkload)
	})
}

func TestWorkloadsThatFail(t *testing.T) {
	broken := errors.New("no such table")
	for _, tt := range []struct {
		why  string
		run  func(context.Context, *trace.Conditions) error
		want string
	}{
		{"an error", func(context.Context, *trace.Conditions) error { return broken }, "no such table"},
		{"a panic", func(context.Context, *trace.Conditions) error { panic("oh") }, "trace: the workload panicked: oh"},
		{"the end of its goroutine", func(context.Context, *trace.Conditions) error { runtime.Goexit(); return nil }, "trace: the workload ended its goroutine"},
		{"no calls", func(context.Context, *trace.Conditions) error { return nil }, `trace: workload is "no call"; allowed: calls through injection points, with the context it is given`},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := lab(t, tt.run)
			r, err := s.RunBaseline(t.Context(), "", nil)
			require.ErrorContains(t, err, tt.want, tt.why)
			assert.Equal(t, trace.StateFailed, r.State)
			_, again := s.Wait(t.Context(), r.RunID)
			assert.Equal(t, err, again, "and says so whenever it is asked")
		})
	}
}

func TestRunsThatTakeLongerThanTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lab(t, service)
		base, err := s.RunBaseline(t.Context(), "calm", nil)
		require.NoError(t, err)
		r, err := s.StartScenario(t.Context(), trace.ScenarioRequest{BaseRunID: base.RunID})
		require.NoError(t, err)
		assert.Equal(t, trace.StateRunning, r.State)
		_, err = s.StartScenario(t.Context(), trace.ScenarioRequest{BaseRunID: base.RunID})
		require.ErrorIs(t, err, trace.ErrBusy)

		patience, cancel := context.WithTimeout(t.Context(), 10*sec+ms)
		defer cancel()
		r, err = s.Wait(patience, r.RunID)
		require.NoError(t, err)
		assert.Equal(t, trace.StateRunning, r.State)
		e, _ := s.Get(r.RunID)
		assert.Equal(t, 10, e.Timeline.Bins(), "what there is so far: calls that have ended")

		r, err = s.Wait(t.Context(), r.RunID)
		require.NoError(t, err)
		assert.Equal(t, trace.StateDone, r.State)
	})
}

func TestARunUnderWayIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRuns(t, &trace.RunsOptions{MaxRuns: 2, Workload: &trace.Workload{Run: service}})
		base, err := s.RunBaseline(t.Context(), "calm", nil)
		require.NoError(t, err)
		r, err := s.StartScenario(t.Context(), trace.ScenarioRequest{BaseRunID: base.RunID})
		require.NoError(t, err)
		for range 5 {
			_, err := s.Add(trace.Entry{Timeline: someRun(t)})
			require.NoError(t, err)
		}
		r, err = s.Wait(t.Context(), r.RunID)
		require.NoError(t, err)
		assert.Equal(t, r.RunID, s.List()[0].ID)
	})
}

func TestAWorkloadIsApartFromTheLiveInjector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := chaos.NewInjector(9, &chaos.InjectorOptions{RecordAll: true})
		require.NoError(t, live.Register(chaos.Rule{Target: "*", Fault: fault.Fail(fault.ErrInternal)}))
		ctx := chaos.WithAttempt(chaos.WithLane(chaos.NewContext(t.Context(), live), "tool call 17"), 5)
		var after error
		late := make(chan struct{})
		slow := chaos.Wrap("slow", func(context.Context, int) (int, error) {
			time.Sleep(sec / 2)
			return 0, nil
		})
		s := lab(t, func(ctx context.Context, _ *trace.Conditions) error {
			go func() { // it outlives the run
				_, _ = slow(ctx, 0)
				time.Sleep(sec)
				after = chaos.Point(ctx, "late")
				close(late)
			}()
			time.Sleep(sec / 4)
			return chaos.Point(ctx, "a")
		})
		r, err := s.RunBaseline(ctx, "", nil)
		require.NoError(t, err, "the rules of the live injector do not reach it")
		<-late
		require.ErrorIs(t, after, chaos.ErrCellEnded)
		assert.Empty(t, live.Events())
		e, _ := s.Get(r.RunID)
		assert.Equal(t, []timeline.Edge{{From: "agent", To: "a", Attempts: 1}}, e.Timeline.Graph(timeline.GraphQuery{}).Edges, "no lane, no late call, nor one that ended late")
	})
}

func TestRealTimeDoesNotRepeat(t *testing.T) {
	s := newRuns(t, &trace.RunsOptions{Workload: &trace.Workload{Run: func(ctx context.Context, _ *trace.Conditions) error { return chaos.Point(ctx, "a") }}})
	r, err := s.RunBaseline(t.Context(), "", nil)
	require.NoError(t, err)
	assert.False(t, r.Repeats)
	assert.Equal(t, []string{"ran in real time: the same seed gives the same draws, not the same series"}, r.Notes)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	assert.JSONEq(t, `{"runId":"run-1","seed":"0","repeats":false,"notes":["ran in real time: the same seed gives the same draws, not the same series"]}`, string(text))
}
