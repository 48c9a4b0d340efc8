package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// Run runs the matrix and reports on it. First it makes one world (or takes
// the shared one), and one for each scenario with a NewWorld of its own. It lists
// their tools, and returns all problems of the matrix and of its rules' targets,
// joined, before any agent is called.
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
	e, err := newEngine(ctx, m, o, false)
	if err != nil {
		return nil, err
	}
	defer func() { e.resumed.close() }()
	if err := e.openResumed(); err != nil {
		return nil, err
	}
	if err := e.openFile(); err != nil {
		return nil, err
	}
	defer e.file.Close() //nolint:errcheck // of a run that failed; the writer has closed it else
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	defer e.close()
	if err := e.learn(ctx, e.sources); err != nil {
		return nil, err
	}
	e.goals, e.goalsLeft = m.Goals, make([]atomic.Bool, len(m.Goals))
	e.makeHead()
	if err := e.resumed.fits(e.head); err != nil {
		return nil, err
	}
	if e.asks() {
		e.prepare(ctx)
		e.head.Probed = e.head.Probed || e.probed
	}
	e.lintRules(ctx)
	return e.runAll(ctx)
}

func (e *engine) makeHead() {
	e.findUnmet()
	e.head, e.tools = e.newHead(), map[string]int{}
	for i, name := range e.head.tools() {
		e.tools[name] = i
	}
}

// open readies what all cells share.
func (e *engine) open(ctx context.Context) error {
	if e.m.Open == nil {
		return nil
	}
	return e.aside("Matrix.Open", func() (err error) {
		e.closing, err = e.m.Open(ctx)
		return err
	})
}

// close ends what open made, once.
func (e *engine) close() {
	closing := e.closing
	if e.closing = nil; closing == nil {
		return
	}
	if err := e.aside("what Matrix.Open returned", closing); err != nil {
		e.warn("at the end of the run: " + err.Error())
	}
}

// aside runs user code that is no part of a cell.
func (e *engine) aside(name string, fn func() error) error {
	caller := newCaller()
	defer caller.Release()
	var err error
	if why := callAside(&caller, e.watchdog(), func() { err = fn() }); why != "" {
		return fmt.Errorf("contract: %s failed: %s", name, why)
	}
	return err
}

// A run is what one independent run of the agent showed: an observation per
// prompt, and what went wrong around them. A [liveRun] makes it.
type run struct {
	observations []*Observation
	partial      *Observation   // of the prompt whose answer cannot be judged
	all          []*Observation // both
	undecided    error          // why observations are missing; nil: none is
	unsound      bool           // undecided is what World.Err said
	refused      error          // why an injection point refused to make a call; nil: none did
	leaked       string         // goroutines left behind in a bubble
	lingering    bool           // user code ended, and only its bubble did not
	frozen       bool           // real I/O kept the clock of the bubble from moving
	warning      string
	cancelled    bool // the context of the matrix's run ended
	abandoned    bool // user code was left behind
	overlaps     []overlap
	late         int
	dropped      int
	deliveries
}

// deliveries are the faults of some observations.
type deliveries struct {
	delivered, undelivered int    // calls, and prompts that were rewritten
	rewritten              int    // those prompts alone
	copy                   uint64 // see CellReport
	prompts                uint64 // their hash
	calls                  callHashes
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
	r.all = r.observations[:len(r.observations):len(r.observations)]
	if r.partial != nil {
		r.all = append(r.all, r.partial)
	}
	r.deliveries = countDeliveries(r.all)
}

// identify hashes the prompts of a run, what was delivered on each of its calls, and all of it
// with the answers. Times and the order of calls play no part: calls that overlap have none. Nor
// do the texts of errors, which may hold ports and addresses.
func (d *deliveries) identify(observations []*Observation) {
	for i, o := range observations {
		d.prompts = hash.Combine(d.prompts, hash.String(o.Prompt))
		d.copy = hash.Combine(d.copy, hash.String(o.Response))
		if o.Err != nil {
			d.copy = hash.Combine(d.copy, hash.String(fmt.Sprintf("%T", o.Err)))
		}
		if d.calls == nil && len(o.Events) > 0 {
			d.calls = callHashes{}
		}
		for k := range o.Events {
			e := &o.Events[k]
			call := hash.Combine(hash.String(e.Lane), hash.String(e.Target))
			call = hash.Combine(call, hash.Combine(e.Key, e.Occurrence))
			ended := hash.String(string(e.Outcome))
			if e.Delivered {
				ended = hash.Combine(ended, deliveredHash(e))
			}
			d.calls[hash.Combine(call, uint64(i))] = ended
		}
	}
	calls := uint64(0)
	for call, ended := range d.calls {
		calls += hash.Combine(call, ended)
	}
	d.copy = hash.Combine(hash.Combine(d.copy, d.prompts), calls)
}

// sameWhereBoth reports whether the calls that two runs have in common ended alike. If no
// prompt, fault or callee was another one, a deterministic agent then has no other call.
func sameWhereBoth(a, b callHashes) bool {
	for call, ended := range a {
		if other, both := b[call]; both && other != ended {
			return false
		}
	}
	return true
}

func deliveredHash(e *chaos.Event) uint64 {
	h := hash.Combine(hash.Combine(hash.String(e.Rule), hash.String(e.Fault)), uint64(e.Asked))
	for _, rule := range e.Also {
		h = hash.Combine(h, hash.String(rule))
	}
	for _, c := range e.Changes {
		h = hash.Combine(hash.Combine(h, hash.String(c.Path)), hash.Bytes(c.After))
	}
	return h
}

func countDeliveries(observations []*Observation) (d deliveries) {
	for _, o := range observations {
		if o.Original != nil {
			d.delivered, d.rewritten = d.delivered+1, d.rewritten+1
		}
		for i := range o.Events {
			switch e := &o.Events[i]; {
			case e.Delivered:
				d.delivered++
			case e.Rule != "":
				d.undelivered++
			}
		}
	}
	d.identify(observations)
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

type engine struct {
	m         *Matrix
	o         RunOptions
	scenarios []*compiledScenario
	sources   []*worldSource
	warnings  []string
	probed    bool
	calm      *calmTally
	goals     []Goal         // of the matrix, which are asked about its cells; none: of a Runner
	goalsLeft []atomic.Bool  // those whose function was left behind
	head      *runHead       // of the report; nil: there is none
	tools     map[string]int // in the head
	reserve   time.Duration  // before Harness.Deadline, for the report
	halted    atomic.Pointer[error]
	file      *os.File         // of the run; nil: none was asked for
	writer    *fileWriter      // of file
	places    []int            // by scenario, among those that ask something
	resumed   *resumed         // nil: the run goes on from no other
	secrets   *redact.Redactor // of the matrix; nil: none
	builtAs   string           // see build
	closing   func() error     // of [Matrix.Open]; nil: there is nothing to end
	forRunner bool             // of [Matrix.Runner]: every invariant is asked in every scenario, of all prompts
}

// newEngine checks everything that can be checked without calling an agent.
func newEngine(ctx context.Context, m *Matrix, o *RunOptions, forRunner bool) (*engine, error) {
	scenarios, err := m.compile(forRunner)
	e := &engine{m: m, scenarios: scenarios, forRunner: forRunner, calm: &calmTally{}}
	if o != nil {
		e.o = *o
	}
	if forRunner {
		e.o.Harness.Rerun = ""
	}
	if d := e.o.Harness.Deadline; !d.IsZero() {
		e.reserve = min(time.Until(d)/10, 15*time.Second)
	}
	if err := errors.Join(err, e.o.check()); err != nil {
		return nil, err
	}
	e.secrets = m.newRedactor()
	if ctx == nil {
		return nil, fields.Wrong("ctx", fielderror.Found("nil"), "a context")
	}
	if forRunner && (m.NewWorld != nil || m.World != nil) {
		plan, _ := chaos.NewPlan(m.Seed) // without rules there is no error
		e.scenarios = append(e.scenarios, &compiledScenario{index: -1, plan: plan})
	}
	e.assign()
	return e, nil
}

// asksAll reports whether a run sends all its prompts, also after an invariant broke:
// others may be judged by it too.
func (e *engine) asksAll() bool { return e.forRunner || e.m.ShareObservations }

// A compiledInvariant is an invariant with its list of prompts in a scenario.
type compiledInvariant struct {
	*Invariant
	index  int // in the matrix
	list   *promptList
	gather Needs // with what RunOptions.Gather adds
}

// assign gives each scenario the source of its worlds and the invariants that apply.
func (e *engine) assign() {
	e.assignWorlds()
	asking := 0
	var common []*compiledInvariant // of all scenarios without worlds and prompts of their own
	for _, s := range e.scenarios {
		var all []*compiledInvariant
		switch {
		case s.NewWorld != nil || len(s.Prompts) > 0:
			all = e.invariantsOf(s)
		case common == nil:
			common = e.invariantsOf(s)
			fallthrough
		default:
			all = common
		}
		for _, p := range all {
			if e.forRunner || p.askedIn(s) {
				s.invariants = append(s.invariants, p)
				p.list.gather |= e.calmNeeds(p)
			}
		}
		e.places = append(e.places, asking)
		asking += asInt(len(s.invariants) > 0)
	}
}

// invariantsOf are all invariants, with the prompts that they have in a scenario.
func (e *engine) invariantsOf(s *compiledScenario) []*compiledInvariant {
	all := make([]*compiledInvariant, len(e.m.Invariants))
	prompts := e.m.Prompts
	if len(s.Prompts) > 0 {
		prompts = s.Prompts
	}
	asked := s.source.listOf(prompts, s.Baselines)
	for i := range all {
		inv := &e.m.Invariants[i]
		list := asked
		if len(inv.Probes) > 0 {
			list = s.source.listOf(inv.Probes, nil)
		}
		all[i] = &compiledInvariant{inv, i, list, inv.Needs | e.o.Gather}
	}
	return all
}

// warn adds a warning about the whole run. While cells run, the collector's lock guards
// the list.
func (e *engine) warn(text string) {
	if len(e.warnings) < maxWarnings {
		e.warnings = append(e.warnings, text)
	}
}

const defaultWatchdog = 5 * time.Minute

// cellLimit is the limit in real time of a run of some prompts that begins now.
func (e *engine) cellLimit(virtual bool, prompts int) time.Duration {
	limit := cmp.Or(e.o.Watchdog, defaultWatchdog)
	if !virtual && e.o.Watchdog == 0 {
		limit += time.Duration(prompts) * e.m.Timeout
	}
	return e.beforeDeadline(limit)
}

// watchdog is the limit in real time of what begins now and is no cell. Something is left
// for it at the deadline too, when only cells are not run.
func (e *engine) watchdog() time.Duration {
	return max(e.beforeDeadline(cmp.Or(e.o.Watchdog, defaultWatchdog)), min(e.reserve, usercode.Grace))
}
