package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A Workload is code that can be run repeatedly, under [Conditions].
type Workload struct {
	_ struct{}
	// Run makes the calls, through injection points that find their injector in
	// ctx. It must begin from the same state each time, wait for everything it
	// started, and end soon after ctx does. With an error the run has failed.
	// Required.
	Run func(ctx context.Context, c *Conditions) error
	// VirtualTime declares that the workload runs in a bubble of testing/synctest.
	// Only there does the same seed give the same series; elsewhere results say
	// that they do not repeat.
	VirtualTime bool
}

// A Result is the result of a run of the workload. Its JSON is the output of
// run_scenario.
type Result struct {
	RunID string `json:"runId"`
	Seed  uint64 `json:"seed,string"`
	// State is left out of the JSON when the run is done.
	State State `json:"state,omitempty"`
	// Repeats reports whether the same request gives the same series again.
	Repeats bool `json:"repeats"`
	// Unread are the parameters that had no effect: the workload did not ask
	// for them, or did not call the node.
	Unread []string `json:"unread,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	// Error is why the run failed.
	Error string `json:"error,omitempty"`
}

// RunBaseline runs the workload unchanged, with the faults and the seed of plan
// (nil: no faults, seed 0). It keeps the run as a baseline, and waits for it as
// [Runs.RunScenario] does.
func (s *Runs) RunBaseline(ctx context.Context, label string, plan *chaos.Plan) (Result, error) {
	e := Entry{Label: label, Kind: KindBaseline, Plan: plan}
	if plan != nil {
		e.Seed = plan.Seed()
	}
	e.Metadata = map[string]string{"seed": strconv.FormatUint(e.Seed, 10)}
	if err := checkLabel(label); err != nil {
		return Result{}, err
	}
	began, err := s.start(ctx, e, s.options.Recorder)
	if err != nil {
		return Result{}, err
	}
	return s.Wait(ctx, began.RunID)
}

// RunScenario repeats the run that the request names with the parameters of the
// request, on an injector of its own. It waits for the end of the run or of ctx.
// The same seed gives the same series in virtual time ([Workload].VirtualTime).
//
// A request that cannot be run gives joined [*FieldError], [ErrNoWorkload] or
// [ErrBusy]. A run that fails gives an error and a Result. That error matches
// [ErrUnread] if the workload read none of the parameters.
func (s *Runs) RunScenario(ctx context.Context, q ScenarioRequest) (Result, error) {
	began, err := s.StartScenario(ctx, q)
	if err != nil {
		return Result{}, err
	}
	return s.Wait(ctx, began.RunID)
}

// StartScenario is [Runs.RunScenario] without waiting. The workload runs until it
// returns, which it should soon after ctx ends; [Runs.Wait] waits for it.
func (s *Runs) StartScenario(ctx context.Context, q ScenarioRequest) (Result, error) {
	base, ok := s.Get(q.BaseRunID)
	switch {
	case s.options.Workload == nil:
		return Result{}, ErrNoWorkload
	case !ok:
		return Result{}, unknownRun("baseRunId", q.BaseRunID)
	case base.State != StateDone:
		return Result{}, fields.Wrong("baseRunId", q.BaseRunID, "a run that is done; this one is "+string(base.State))
	}
	if err := errors.Join(checkLabel(q.Label), q.Parameters.check(base.Timeline)); err != nil {
		return Result{}, err
	}
	plan, err := s.varied(base, q.Parameters)
	if err != nil {
		return Result{}, err
	}
	options := s.options.Recorder
	options.Run.Epoch, options.Run.BinSize = base.Timeline.Epoch(), base.Timeline.BinSize()
	e := Entry{Label: q.Label, Kind: KindScenario, Seed: base.Seed, Plan: plan, Base: base.ID, Parameters: q.Parameters}
	e.Metadata = q.Parameters.metadata(base)
	return s.start(ctx, e, options)
}

const outageRule = "outageInjection"

// varied returns the plan of a scenario: the rules of its base, and the outage.
func (s *Runs) varied(base Entry, p Parameters) (*chaos.Plan, error) {
	var rules []chaos.Rule
	if o := p.OutageInjection; o != nil {
		bin := base.Timeline.BinSize()
		from := time.Duration(base.Timeline.BinAt(o.Start)) * bin
		to := from + time.Duration(o.DurationBins)*bin
		rules = append(rules, chaos.Rule{Name: outageRule, Target: glob.Literal(o.NodeID), When: when.Between(from, to),
			Fault: fault.Fail(fault.ErrUnavailable)})
	}
	if base.Plan != nil {
		for _, r := range base.Plan.Rules() {
			if r.Name != outageRule || p.OutageInjection == nil {
				rules = append(rules, r)
			}
		}
	}
	return chaos.NewPlan(base.Seed, rules...)
}

func (s *Runs) start(ctx context.Context, e Entry, o Options) (Result, error) {
	if s.options.Workload == nil {
		return Result{}, ErrNoWorkload
	}
	recorder, err := NewRecorder(&o)
	if err != nil {
		return Result{}, err
	}
	e.State, e.Timeline = StateRunning, recorder.Run()
	k := &kept{Entry: e, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.entries {
		if other.State == StateRunning {
			return Result{}, ErrBusy
		}
	}
	if err := s.keep(k, &e); err != nil {
		return Result{}, err
	}
	k.result = Result{RunID: e.ID, Seed: e.Seed, State: StateRunning, Repeats: s.options.Workload.VirtualTime}
	if !k.result.Repeats {
		k.result.Notes = []string{"ran in real time: the same seed gives the same draws, not the same series"}
	}
	go s.rerun(ctx, k, e, recorder)
	return k.result, nil
}

// rerun runs the workload on an injector of its own, without the lane, turn and
// attempt of ctx. Calls that end after it are not recorded.
func (s *Runs) rerun(ctx context.Context, k *kept, e Entry, recorder *Recorder) {
	var ended atomic.Bool
	o := &chaos.InjectorOptions{RecordAll: true, MaxLog: -1, OnEvent: func(ctx context.Context, event chaos.Event) {
		if !ended.Load() {
			recorder.Record(ctx, event)
		}
	}}
	plan := e.Plan
	if plan == nil {
		plan, _ = chaos.NewPlan(e.Seed) // without rules nothing can be wrong with it
	}
	in := plan.Injector("", o)
	ctx = chaos.WithAttempt(chaos.WithTurn(chaos.WithLane(chaos.NewContext(ctx, in), ""), 0), 0)
	c := newConditions(e.Seed, e.Parameters)
	err := guarded(ctx, s.options.Workload.Run, c)
	ended.Store(true)
	in.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	k.conclude(err, c, in)
	close(k.done)
}

// guarded runs user code, which may panic or end its goroutine.
func guarded(ctx context.Context, run func(context.Context, *Conditions) error, c *Conditions) error {
	err := <-usercode.Go(errExited, func() error { return run(ctx, c) })
	if p, panicked := err.(*usercode.PanicError); panicked {
		return fmt.Errorf("trace: the workload panicked: %v\n%s", p.Value, p.Stack)
	}
	return err
}

var errExited = errors.New("trace: the workload ended its goroutine")

// conclude sets the state and the result of a run of the workload that has ended.
func (k *kept) conclude(err error, c *Conditions, in *chaos.Injector) {
	given := k.unread(c)
	switch {
	case err != nil:
	case k.Timeline.Bins() == 0:
		err = fields.Wrong("workload", "no call", "calls through injection points, with the context it is given")
	case len(k.result.Unread) > 0 && len(k.result.Unread) == given:
		err = fields.Because("parameters", strings.Join(k.result.Unread, ", "), ErrUnread, "")
	}
	if o := k.Parameters.OutageInjection; o != nil && slices.Contains(in.Undelivered(), outageRule) {
		k.result.Notes = append(k.result.Notes, "the outage matched no call: none to "+o.NodeID+" began in it")
	}
	k.State, k.err = StateDone, err
	if err != nil {
		k.State, k.result.Error = StateFailed, err.Error()
	}
	k.result.State = k.State
}

// unread lists the parameters that had no effect, and returns the number of those
// given.
func (k *kept) unread(c *Conditions) (given int) {
	check := func(is, read bool, name string) {
		if is {
			given++
		}
		if is && !read {
			k.result.Unread = append(k.result.Unread, name)
		}
	}
	p := k.Parameters
	check(p.CapacityMultiplier != nil, c.limits.Load() > 0, "capacityMultiplier")
	check(p.RetryDelayMultiplier != nil, c.delays.Load() > 0, "retryDelayMultiplier")
	check(p.OutageInjection != nil, p.OutageInjection != nil && called(k.Timeline, p.OutageInjection.NodeID),
		"outageInjection")
	return given
}

func called(run *timeline.Run, node string) bool {
	return slices.ContainsFunc(run.Graph(timeline.GraphQuery{}).Edges,
		func(e timeline.Edge) bool { return e.To == node })
}

// Wait waits until a run of the workload or ctx has ended. If ctx ends first, the
// state of the result is running. The error is that of the run, or matches
// [ErrUnknownRun]. A run added with [Runs.Add] is done.
func (s *Runs) Wait(ctx context.Context, id string) (Result, error) {
	s.mu.Lock()
	k := s.find(id)
	s.mu.Unlock()
	if k == nil {
		return Result{}, unknownRun("runId", id)
	}
	if k.done == nil {
		return Result{RunID: k.ID, Seed: k.Seed}, nil
	}
	select {
	case <-k.done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return k.result, k.err
}
