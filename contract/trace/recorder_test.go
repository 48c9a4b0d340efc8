package trace_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

func newRecorder(t testing.TB, o *trace.Options) *trace.Recorder {
	t.Helper()
	r, err := trace.NewRecorder(o)
	require.NoError(t, err)
	return r
}

func TestWhatAnEventMeans(t *testing.T) {
	ok := chaos.Event{Target: "search", Outcome: chaos.OutcomeOK, Attempt: 1}
	plain := timeline.Sample{Target: "search", Type: timeline.NodePoint, Attempt: 1}
	for _, tt := range []struct {
		why     string
		options trace.Options
		change  func(*chaos.Event)
		want    func(*timeline.Sample)
	}{
		{why: "a call that went well"},
		{why: "times and coordinates are taken over",
			change: func(e *chaos.Event) { e.Start, e.End, e.Key, e.Attempt, e.Caller = sec, 2*sec, 7, 3, "agent.a" },
			want:   func(s *timeline.Sample) { s.Start, s.End, s.Key, s.Attempt, s.Caller = sec, 2*sec, 7, 3, "agent.a" }},
		{why: "the callee failed", change: func(e *chaos.Event) { e.Outcome = chaos.OutcomeFailed }, want: func(s *timeline.Sample) { s.Failed = true }},
		{why: "a panic is a failure", change: func(e *chaos.Event) { e.Outcome = chaos.OutcomePanicked }, want: func(s *timeline.Sample) { s.Failed = true }},
		{why: "a fault that the caller saw",
			change: func(e *chaos.Event) {
				e.Outcome, e.Rule, e.Fault, e.Delivered = chaos.OutcomeInjected, "r", "timeout", true
			},
			want: func(s *timeline.Sample) { s.Failed = true }},
		{why: "the class is the lane",
			change: func(e *chaos.Event) { e.Lane = "checkout" },
			want:   func(s *timeline.Sample) { s.Lane, s.Class = "checkout", "checkout" }},
		{why: "or the label before its slash",
			change: func(e *chaos.Event) { e.Lane = "checkout/worker-3/a" },
			want:   func(s *timeline.Sample) { s.Lane, s.Class = "checkout/worker-3/a", "checkout" }},
		{why: "no label before the slash is no class",
			change: func(e *chaos.Event) { e.Lane = "/w" }, want: func(s *timeline.Sample) { s.Lane = "/w" }},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r := newRecorder(t, &tt.options)
			e, want := ok, plain
			if tt.change != nil {
				tt.change(&e)
			}
			if tt.want != nil {
				tt.want(&want)
			}
			r.Record(context.Background(), e)
			assert.Equal(t, want, r.SampleOf(e))
			assert.Equal(t, int64(1), r.Run().Graph(timeline.GraphQuery{}).Edges[0].Attempts, "it is in the run, too")
		})
	}
}

func TestTypesOfNodes(t *testing.T) {
	r := newRecorder(t, &trace.Options{Type: func(e chaos.Event) timeline.NodeType {
		return map[string]timeline.NodeType{"refund": timeline.NodeTool, "lookups": timeline.NodePoint}[e.Target]
	}})
	for _, tt := range []struct {
		target string
		layer  chaos.Layer
		want   timeline.NodeType
	}{
		{"orders.lookup", "", timeline.NodePoint}, {"llm.chat", chaos.LayerPoint, timeline.NodePoint},
		{"lookup", chaos.LayerTool, timeline.NodeTool}, {"small-1", chaos.LayerLLM, timeline.NodeLLM},
		{"GET shop/", chaos.LayerHTTP, timeline.NodeHTTP},
		{"refund", chaos.LayerLLM, timeline.NodeTool}, {"lookups", chaos.LayerTool, timeline.NodePoint}, // the options go over it
	} {
		assert.Equal(t, tt.want, r.SampleOf(chaos.Event{Target: tt.target, Layer: tt.layer, Outcome: chaos.OutcomeOK}).Type, tt.target)
	}
}

func TestRefusedCallsAreCounted(t *testing.T) {
	r := newRecorder(t, nil)
	before := r.From(r.Run().Epoch().Add(-time.Hour))
	before.Record(context.Background(), chaos.Event{Target: "a", Outcome: chaos.OutcomeOK, End: sec})
	r.Record(context.Background(), chaos.Event{Outcome: chaos.OutcomeOK})
	r.Record(context.Background(), chaos.Event{Target: "a", Outcome: chaos.OutcomeOK})
	n, first := r.Refused()
	assert.Equal(t, int64(2), n)
	assert.ErrorContains(t, first, "timeline: start is -1h0m0s; allowed: 0 or more", "the first")
	assert.Equal(t, int64(1), r.Run().Graph(timeline.GraphQuery{}).Edges[0].Attempts)
	_, err := trace.NewRecorder(&trace.Options{Run: timeline.RunOptions{BinSize: -1}})
	var wrong *trace.FieldError
	assert.ErrorAs(t, err, &wrong)
}

func TestTheCallGraphIsThatOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder(t, nil)
		var samples []timeline.Sample
		in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, OnEvent: func(ctx context.Context, e chaos.Event) {
			rec.Record(ctx, e)
			samples = append(samples, rec.SampleOf(e))
		}})
		ctx := chaos.NewContext(t.Context(), in)
		_, _ = shop()(chaos.WithLane(ctx, "shop"), 1)
		require.NoError(t, chaos.Point(ctx, "cron"))

		assert.Equal(t, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), rec.Run().Epoch(), "the moment at which it was made")
		g := rec.Run().Graph(timeline.GraphQuery{})
		assert.Equal(t, []timeline.Edge{
			{From: "agent", To: "checkout", Class: "shop", Attempts: 1},
			{From: "agent", To: "cron", Attempts: 1},
			{From: "checkout", To: "llm.chat", Class: "shop", Attempts: 1},
			{From: "checkout", To: "orders.lookup", Class: "shop", Attempts: 1},
		}, g.Edges)
		assert.Equal(t, []timeline.Named{{ID: "llm", Name: "llm"}, {ID: "orders", Name: "orders"}}, g.Subsystems)
		assert.Equal(t, timeline.Sample{
			Caller: "checkout", Target: "llm.chat", Class: "shop", Lane: "shop", Type: timeline.NodePoint,
			Start: 50 * ms, End: 250 * ms, Attempt: 1,
		}, samples[1], "in virtual time, times are exact")
	})
}

func TestRetriesAreOneOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder(t, nil)
		plan, err := chaos.NewPlan(1, chaos.Rule{Target: "refund", Fault: fault.Fail(fault.ErrUnavailable), Limit: 2})
		require.NoError(t, err)
		ctx := chaos.NewContext(t.Context(), plan.Injector("", &chaos.InjectorOptions{RecordAll: true, OnEvent: rec.Record}))
		for chaos.Point(ctx, "refund") != nil {
			time.Sleep(100 * ms)
		}
		w, err := rec.Run().StateWindow(timeline.Query{}, timeline.Arrivals, timeline.Served, timeline.Attempts, timeline.Failures)
		require.NoError(t, err)
		assert.Equal(t, map[timeline.Metric][]timeline.Value{
			timeline.Arrivals: {1}, timeline.Served: {1}, timeline.Attempts: {3}, timeline.Failures: {2},
		}, w.Series[0].Metrics)
	})
}

func TestOneRecorderForSeveralInjectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder(t, nil)
		for range 3 {
			time.Sleep(10 * sec)
			in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, OnEvent: rec.From(time.Now()).Record})
			time.Sleep(sec)
			require.NoError(t, chaos.Point(chaos.NewContext(t.Context(), in), "a"))
		}
		w, err := rec.Run().StateWindow(timeline.Query{}, timeline.Arrivals)
		require.NoError(t, err)
		for bin, n := range w.Series[0].Metrics[timeline.Arrivals] {
			assert.Equal(t, bin > 0 && bin%11 == 0, n == 1, bin)
		}
	})
}

func TestRecordingFromManyGoroutines(t *testing.T) {
	rec := newRecorder(t, nil)
	in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, MaxLog: -1, OnEvent: rec.Record})
	failing := errors.New("failing")
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			call := chaos.Wrap(fmt.Sprintf("node-%d", w%3), func(_ context.Context, i int) (int, error) {
				if i%10 == 0 {
					return 0, failing
				}
				return i, nil
			})
			ctx := chaos.WithLane(chaos.NewContext(context.Background(), in), fmt.Sprintf("load/%d", w))
			for i := range 500 {
				_, _ = call(ctx, i)
				if i%100 == 0 {
					rec.Run().Graph(timeline.GraphQuery{})
				}
			}
		})
	}
	workers.Wait()
	var attempts, failures int64
	for _, e := range rec.Run().Graph(timeline.GraphQuery{}).Edges {
		assert.Equal(t, "load", e.Class)
		attempts, failures = attempts+e.Attempts, failures+e.Failures
	}
	assert.Equal(t, int64(4000), attempts)
	assert.Equal(t, int64(400), failures)
}

func TestAHangIsAnOutageWhileItLasts(t *testing.T) {
	for name, rules := range map[string][]chaos.Rule{
		"a callee that hangs": nil,
		"a fault that hangs":  {{Target: "orders.get", Fault: fault.Hang()}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := newRecorder(t, &trace.Options{Run: timeline.RunOptions{Now: time.Now}})
				in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, OnBegin: rec.Begin, OnEvent: rec.Record})
				for _, r := range rules {
					require.NoError(t, in.Register(r))
				}
				get := chaos.Wrap("orders.get", func(ctx context.Context, _ int) (int, error) {
					<-ctx.Done()
					return 0, ctx.Err()
				})
				ctx, cancel := context.WithCancel(chaos.NewContext(t.Context(), in))
				go func() { _, _ = get(ctx, 1) }()
				time.Sleep(5*sec + 500*time.Millisecond)
				synctest.Wait()
				found, err := rec.Run().DetectOutages(timeline.Query{}, timeline.OutageRule{})
				require.NoError(t, err)
				require.Len(t, found, 1, "it is seen while it lasts")
				assert.Equal(t, timeline.Outage, found[0].Type)
				limit := 0.5
				found, err = rec.Run().DetectOutages(timeline.Query{}, timeline.OutageRule{Metric: timeline.Backlog, Threshold: &limit})
				require.NoError(t, err)
				require.Len(t, found, 1)
				assert.Equal(t, 6, found[0].Bins(), "by backlog, all of it")
				assert.Equal(t, 1, rec.Run().InFlight())
				cancel()
				synctest.Wait()
				assert.Zero(t, rec.Run().InFlight())
				w, err := rec.Run().StateWindow(timeline.Query{}, timeline.Arrivals, timeline.Errors)
				require.NoError(t, err)
				assert.Equal(t, map[timeline.Metric][]timeline.Value{
					timeline.Arrivals: {1, 0, 0, 0, 0, 0}, timeline.Errors: {0, 0, 0, 0, 0, 1},
				}, w.Series[0].Metrics, "counted once")
			})
		})
	}
}

func TestAFaultInjectedByNameIsNoNode(t *testing.T) {
	rec := newRecorder(t, nil)
	in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, OnBegin: rec.Begin, OnEvent: rec.Record})
	require.NoError(t, in.Register(chaos.Rule{Name: "down", Target: "orders.*", Fault: fault.Fail(errors.New("down"))}))
	fired, err := in.InjectNow(t.Context(), "down")
	require.True(t, fired)
	require.Error(t, err)
	assert.Empty(t, rec.Run().Graph(timeline.GraphQuery{}).Nodes)
	assert.Len(t, in.Events(), 1, "the injector has its event all the same")
}
