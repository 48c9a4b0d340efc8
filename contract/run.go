package contract

import (
	"context"
	"errors"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// Run runs the matrix and reports on it. First it makes one world (or takes
// the shared one), lists its tools, and returns all problems of the matrix and
// of its rules' targets, joined, before any agent is called.
//
// User code that panics, hangs, ends its goroutine or ignores its context is
// the result of its own cell. A panic on a goroutine that an agent started
// itself cannot be recovered here, and ends the program.
//
// When ctx ends, no further cell is started and Run returns the report so far
// with the context's error; its verdict is not Pass. Other errors: those of
// [Matrix.Validate], of making the first world, and [scoring.ErrNoneRan], with
// a report, when [Harness.Around] left out every cell. A failing verdict is not
// an error.
func (m *Matrix) Run(ctx context.Context, o *RunOptions) (*Report, error) {
	e, err := newEngine(ctx, m, o)
	if err != nil {
		return nil, err
	}
	e.prepare(ctx)
	l := &ruleLinter{engine: e, warn: e.warn, never: map[ruleKey]bool{}}
	defer l.caller.release()
	l.lintRules(ctx)
	return e.runAll(ctx, l)
}

// RunCell runs one cell of the matrix as Run does: with the same seed and the
// same faults, and after a calm run if the invariant needs a baseline. It does
// not make the state probe and does not call OnCell.
//
// The report retains the observation unless o.Keep is KeepNone or KeepCounts. A
// cell that the matrix does not have is a [*FieldError]. When ctx ends, RunCell
// returns its error with the report so far.
func (m *Matrix) RunCell(ctx context.Context, c Cell, o *RunOptions) (*CellReport, error) {
	e, err := newEngine(ctx, m, o)
	if err != nil {
		return nil, err
	}
	j, err := e.find(c)
	if err != nil {
		return nil, err
	}
	if e.o.Keep < KeepNone {
		e.o.Keep = KeepAll
	}
	w := e.newWorker()
	defer w.end()
	r := w.run(ctx, j)[0]
	r.trim(e.o.Keep)
	if r.cancelled {
		return &r, ctx.Err()
	}
	return &r, nil
}

// A run is what one independent run of the agent showed: an observation per
// prompt, and what went wrong around them. A [runner] makes it.
type run struct {
	observations []*Observation
	partial      *Observation // of the prompt whose answer cannot be judged
	undecided    error        // why observations are missing; nil: none is
	refused      error        // why an injection point refused to make a call; nil: none did
	leaked       string       // goroutines left behind in a bubble
	lingering    bool         // user code ended, and only its bubble did not
	warning      string
	cancelled    bool           // the context of the matrix's run ended
	abandoned    bool           // user code was left behind
	unended      bool           // a call did not end, in a run without faults
	uncounted    []*Observation // whose faults the report has not counted yet
	late         int
	dropped      int
	deliveries
}

// deliveries are the faults of some observations.
type deliveries struct {
	delivered, undelivered int  // calls
	absorbed               bool // some were delivered, and none is known to have reached the agent itself
}

// sum counts faults and calls. A cancelled run decides nothing: anything in it,
// even an answer, may come from the cancellation.
func (r *run) sum(ctx context.Context, in *chaos.Injector) {
	if ctx.Err() != nil {
		r.undecided, r.cancelled = errors.New("the run was cancelled"), true
	}
	if in != nil {
		r.late, r.dropped, r.refused = toInt(in.LateCalls()), toInt(in.Dropped()), in.Refusal()
	}
	r.uncounted = r.observations[:len(r.observations):len(r.observations)]
	if r.partial != nil {
		r.uncounted = append(r.uncounted, r.partial)
	}
	r.deliveries = countDeliveries(r.uncounted)
}

// elapsed is how long the agent took for all its answers.
func (r *run) elapsed() (sum time.Duration) {
	for _, o := range r.observations {
		sum = plus(sum, o.Elapsed)
	}
	if r.partial != nil {
		sum = plus(sum, r.partial.Elapsed)
	}
	return sum
}

func countDeliveries(observations []*Observation) (d deliveries) {
	for _, o := range observations {
		for i := range o.Events {
			switch e := &o.Events[i]; {
			case e.Delivered:
				d.delivered++
			case e.Rule != "":
				d.undelivered++
			}
		}
	}
	d.absorbed = d.delivered > 0 && !reachedAgent(observations)
	return d
}

// upTo returns the faults that may have caused the ruling: of a broken cell those
// up to the prompt that broke it. So a broken cell has the same counts whether
// or not the later prompts are sent.
func (r *run) upTo(found ruling) deliveries {
	if found.state != Broken || found.at < 0 || found.at+1 == len(r.observations) && r.partial == nil {
		return r.deliveries
	}
	return countDeliveries(r.observations[:found.at+1])
}
