package audit

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A Call is a call that the audit sent.
type Call struct {
	// Of is "one call" or "one call, again" for the two that give the state of one call, else "treatment, run 1" and
	// so on.
	Of     string          `json:"of"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result,omitempty"`
	Err    string          `json:"err,omitempty"`
	// Start and End are times since the treatment began. End is when the caller had its answer or gave up.
	Start time.Duration `json:"startNs"`
	End   time.Duration `json:"endNs"`
}

// A State is a state that the audit read.
type State struct {
	When  string          `json:"when"`
	Value json.RawMessage `json:"value"` // one of more than 8 KB is a string: its beginning
}

// Evidence is what a treatment of a tool showed. It is the response of the treatment's cell, as JSON.
type Evidence struct {
	Tool      string  `json:"tool"`
	Treatment string  `json:"treatment"`
	Verdict   Verdict `json:"verdict"`
	Why       string  `json:"why,omitempty"`
	// Effect is the most that calls did to the state: "none", "reorders" (lists), "adds", "changes" or "removes"; empty:
	// not known.
	Effect string  `json:"effect,omitempty"`
	Calls  []Call  `json:"calls,omitempty"`
	States []State `json:"states,omitempty"`
}

// A trial is one treatment of one tool.
type trial struct {
	o              *Options
	plan           *Planned
	treatment      *treatment
	world          *World             // of this run
	tools          chaos.ToolRegistry // of world, with the faults of the treatment
	of             string             // see Call
	args, second   json.RawMessage    // of the first call, and of the second
	began          time.Time
	took, tookMost time.Duration // by one call: the shorter and the longer of the two that give its state
	before, once   any           // the states before and after one call
	unlike         string        // why no state can be compared with those; empty: it can

	runs     int // of the treatment
	turn     int // see treatment
	repeated bool
	points   []point
	// Of cancellations: after which part of the time of one call, and of which time, the first call is cancelled.
	part    float64
	lasts   time.Duration
	tooLate int  // how many of this turn came too late
	sooner  bool // whether the last one did, and the turn is made again
	// Of this run.
	found     ruling
	failed    error         // of the call whose answer counts
	lasted    time.Duration // from the first call to the state after
	untried   string        // why the treatment was not what it should be; empty: it was
	looked    bool          // the state after the first call was read: middle
	middle    any
	restarted any             // the state after a restart
	called    time.Time       // the first call
	waited    time.Duration   // of a world that nobody resets: in which the first call is known to do nothing more
	lookedAt  time.Time       // when middle was read
	together  *sync.WaitGroup // of calls that begin together

	mu       sync.Mutex
	evidence Evidence
	left     []<-chan error // calls that were given up
}

// A ruling is what a run of a treatment showed.
type ruling struct {
	verdict Verdict
	why     string
}

// gravity orders the verdicts of a treatment; that of a ruling that has none is the least.
func (r ruling) gravity() int {
	return slices.Index([]Verdict{NotTried, Safe, Unknown, Wedged, PartlyDone, Doubles}, r.verdict)
}

// conclude decides the run, unless it is decided.
func (t *trial) conclude(v Verdict, why string) {
	if t.found.verdict == "" {
		t.found = ruling{v, why}
	}
}

// call calls the tool as a client does: who gives up does not wait for the tool.
func (t *trial) call(ctx context.Context, args json.RawMessage) error {
	pause(ctx, t.o.Every)
	ctx, cancel := context.WithTimeout(ctx, t.o.timeout())
	defer cancel()
	sent := Call{Of: t.of, Args: args, Start: time.Since(t.began)}
	answered := sent       // the goroutine's, until it has ended
	together := t.together // it is set to nil when a call that was given up may go on
	ended := usercode.Go(nil, func() (err error) {
		if together != nil {
			together.Done()
			together.Wait()
		}
		answered.Start = time.Since(t.began)
		defer func() { answered.End = time.Since(t.began) }()
		answered.Result, err = t.tools.CallTool(ctx, t.plan.Tool, slices.Clone(args)) // a tool may write to them
		return cmp.Or(err, refusal(answered.Result))
	})
	err, left := error(nil), false
	select {
	case err = <-ended:
		sent = answered
	case <-ctx.Done():
		err, left, sent.End = ctx.Err(), true, time.Since(t.began)
	}
	if err == nil {
		sent.Result = t.o.kept(sent.Result)
	} else {
		sent.Result, sent.Err = nil, usercode.ErrorText(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.evidence.Calls = append(t.evidence.Calls, sent); left {
		t.left = append(t.left, ended)
	}
	return err
}

// refusal is the error that a result of MCP with isError is; nil: it is none.
func refusal(result json.RawMessage) error {
	var r struct {
		IsError bool `json:"isError"`
	}
	if json.Unmarshal(result, &r) != nil || !r.IsError {
		return nil
	}
	return errors.New("the result has isError: " + text.Truncate(string(result)))
}

// again calls the tool until it succeeds, a few times.
func (t *trial) again(ctx context.Context, args json.RawMessage) {
	for i := range mostCalls {
		if i > 0 {
			pause(ctx, retryAfter)
		}
		if t.failed = t.call(ctx, args); t.failed == nil {
			return
		}
	}
}

// settle waits for calls that were given up, and for what the tool does after its answer.
func (t *trial) settle(ctx context.Context) {
	for _, ended := range t.left {
		select {
		case <-ended:
		case <-time.After(t.o.timeout()):
			t.conclude(Unknown, "a call that was given up does not end")
		}
	}
	t.left = nil
	if pause(ctx, t.o.Settle); t.o.Settle == 0 {
		pause(ctx, max(2*t.tookMost, leastSettle))
	}
}

// state reads the state of the world; an error of it decides the run, except that there is none.
func (t *trial) state(ctx context.Context, when string) any {
	ctx, cancel := context.WithTimeout(chaos.NewContext(ctx, nil), t.o.timeout())
	defer cancel()
	o := usercode.Options[any]{Grace: usercode.Patient(leastSettle)}
	v, err, _ := usercode.Do(ctx, o, func(ctx context.Context) (any, error) { return t.o.state(ctx, t.world) })
	switch {
	case err == nil:
		t.evidence.States = append(t.evidence.States, State{when + " " + t.of, t.o.kept(jsonvalue.Document(v))})
	case errors.Is(err, errNoState):
		t.unlike = cmp.Or(t.unlike, err.Error())
	default:
		t.conclude(Unknown, "the state could not be read: "+usercode.ErrorText(err))
	}
	return v
}

// still reads the state again, to see that it does not change by being read or by itself.
func (t *trial) still(ctx context.Context, before any) any {
	t.settle(ctx)
	again := t.state(ctx, "a moment later, before")
	if !same(before, again) {
		t.unlike = cmp.Or(t.unlike, "the state changes without a call: it counts its readings, or changes by itself")
	}
	return again
}

// look reads the state after the first call. In a world that nobody resets no other call shows whether its work goes on
// for longer than Settle, and what it does then would look like that of the second call. So it is read again there.
func (t *trial) look(ctx context.Context) {
	t.looked = true
	if t.o.fresh() {
		t.middle = t.state(ctx, "after the first call of")
		if same(t.before, t.once) && !same(t.before, t.middle) { // the call may still go on
			t.settle(ctx)
			t.middle = t.state(ctx, "a moment later, after the first call of")
		}
		return
	}
	if t.failed != nil {
		t.conclude(Unknown, "the first call fails: "+usercode.ErrorText(t.failed))
	}
	t.settle(ctx)
	t.middle = t.state(ctx, "after the first call of")
	t.waited = 2 * (time.Since(t.called) + leastSettle) // the second call may take longer than the first
	pause(ctx, t.waited)
	if again := t.state(ctx, "a moment later, after the first call of"); !same(t.middle, again) {
		t.conclude(Unknown, goesOn)
	}
	t.lookedAt = time.Now()
}

const goesOn = "the work of one call goes on after Settle, so states cannot be compared: raise it"

// kept is what the evidence keeps of a document. It is redacted before it is cut: of a secret that is cut in two
// nobody knows the beginning.
func (o *Options) kept(doc []byte) json.RawMessage {
	if len(doc) > mostValue || !json.Valid(doc) {
		doc = o.redactor().JSON(doc, true)
		return jsonvalue.Document(fmt.Sprintf("%s … (%d bytes)", doc[:min(len(doc), mostValue)], len(doc)))
	}
	return doc
}

func pause(ctx context.Context, d time.Duration) {
	if d > 0 {
		_ = chaos.Sleep(chaos.NewContext(ctx, nil), d) //nolint:errcheck // the calls see that it ended
	}
}

// run makes and judges the treatment, and returns its evidence as JSON.
func (t *trial) run(ctx context.Context) (doc []byte, err error) {
	defer usercode.Recover(&err, "a function of the options")
	t.began, t.evidence.Tool, t.evidence.Treatment = time.Now(), t.plan.Tool, t.treatment.name
	t.choose()
	r := t.make(ctx)
	t.evidence.Verdict, t.evidence.Why = r.verdict, r.why
	return json.Marshal(&t.evidence)
}

// make makes the treatment in fresh worlds, if there are such, and returns the gravest of what its runs show.
func (t *trial) make(ctx context.Context) (gravest ruling) {
	if t.o.fresh() {
		if t.reference(chaos.NewContext(ctx, nil)); t.found.verdict != "" {
			return t.found
		}
	}
	for t.turn = 0; t.turn == 0 || t.turn < t.treatment.turns; t.turn++ {
		r := t.treat(ctx)
		bad := r.gravity() > ruling{verdict: Unknown}.gravity()
		if t.o.fresh() && bad && r.gravity() > gravest.gravity() { // it may have been by chance
			t.repeated = true
			second := t.treat(ctx)
			if t.repeated = false; second.gravity() > r.gravity() {
				r, second = second, r
			}
			if second.verdict != r.verdict {
				r.why += " (in 1 of 2 runs)"
			}
			r = t.later(ctx, r)
		}
		if r.gravity() > gravest.gravity() {
			gravest = r
		}
		if gravest.verdict == Doubles || t.unlike != "" || ctx.Err() != nil {
			break
		}
	}
	return gravest
}

// reference finds the states before and after one call, in two fresh worlds.
func (t *trial) reference(ctx context.Context) {
	once := func(before any) {
		began := time.Now()
		if failed := t.call(ctx, t.args); failed != nil {
			t.conclude(Unknown, "the example call fails: "+usercode.ErrorText(failed))
		}
		took := time.Since(began) - t.o.Every
		if t.tookMost = max(t.tookMost, took); t.took == 0 || took < t.took { // one may have been interrupted
			t.took = took
		}
	}
	t.before, t.once = t.visit(ctx, "one call", func(before any) { t.still(ctx, before); once(before) })
	before, after := t.visit(ctx, "one call, again", once)
	switch {
	case t.unlike != "":
	case !same(t.before, before):
		t.unlike = "two fresh worlds begin with different states"
	case !same(t.once, after):
		t.unlike = "one call leaves different states in two fresh worlds: the state should leave out ids and times"
	}
}

// visit makes calls in a world that is in its first state, and returns the states before and after them.
func (t *trial) visit(ctx context.Context, of string, calls func(before any)) (before, after any) {
	if t.found.verdict != "" {
		return nil, nil
	}
	world, err := t.o.open(chaos.NewContext(ctx, nil))
	if err != nil {
		t.conclude(Unknown, "a fresh world could not be made: "+err.Error())
		return nil, nil
	}
	defer func() { // also if a function of the options panics
		if err := world.Close(); err != nil {
			t.conclude(Unknown, "a world could not be closed: "+err.Error())
		}
	}()
	t.world, t.of, t.tools = world, of, chaos.WrapRegistry(world.Tools, nil)
	if before = t.state(ctx, "before"); t.found.verdict != "" {
		return before, nil // nothing is called where no state could tell what it does
	}
	began := time.Now()
	calls(before)
	t.settle(ctx)
	t.lasted = time.Since(began)
	return before, t.state(ctx, "after")
}

// treat makes the treatment once, and judges it.
func (t *trial) treat(ctx context.Context) ruling {
	t.found, t.failed, t.untried, t.looked = ruling{}, nil, "", false
	t.runs++
	of := fmt.Sprintf("treatment, run %d", t.runs)
	ctx = chaos.WithLane(ctx, of) // a fault is for the first call of each run
	_, after := t.visit(ctx, of, func(before any) {
		if t.o.fresh() && !same(before, t.before) {
			t.unlike = cmp.Or(t.unlike, "the state before the treatment differs without a call")
		} else if !t.o.fresh() {
			t.before = t.still(ctx, before)
		}
		t.called = time.Now()
		t.treatment.run(ctx, t)
	})
	if !t.o.fresh() {
		t.once = t.middle
		if !same(t.once, after) && time.Since(t.lookedAt) > t.waited {
			t.conclude(Unknown, "the state changed later than the first call was watched, which may have changed it: raise Settle")
		}
	}
	if ctx.Err() != nil {
		t.conclude(Unknown, "the run was ended")
	}
	t.judge(after)
	return t.found
}

// later looks whether the state of one call is still the same when as much time has passed as the treatment took. Else
// work that a call does late looks as if the treatment had done it.
func (t *trial) later(ctx context.Context, r ruling) ruling {
	t.found = ruling{}
	lasted := t.lasted
	ctx = chaos.NewContext(ctx, nil) // the fault of the treatment is not for this call
	_, after := t.visit(ctx, "one call, and a longer wait", func(any) {
		_ = t.call(ctx, t.args) //nolint:errcheck // the state shows what it did
		pause(ctx, lasted)
	})
	if t.found.verdict == "" && !same(t.once, after) {
		t.evidence.Effect = "" // which may be what time did
		return ruling{Unknown, goesOn}
	}
	return r
}

// choose decides what the calls ask for, with which idempotency keys. A world that nobody resets needs new ones.
func (t *trial) choose() {
	first, other := firstKey, otherKey
	if !t.o.fresh() {
		first, other = rand.Text(), rand.Text()
	}
	t.args = t.plan.args
	switch fixed := jsonedit.Given(t.args, t.plan.Key) && !t.plan.Made && t.o.fresh(); {
	case t.plan.Key == "":
	case t.treatment.name == withoutKey:
		t.args = jsonedit.Without(t.args, t.plan.Key)
	case !fixed:
		t.args = t.withKey(first)
	}
	switch t.second = t.args; t.treatment.name {
	case anotherKey:
		t.second = t.withKey(other)
	case otherSpelling:
		t.second = respelled(t.args)
	}
}

// withKey returns the arguments with an idempotency key, for which they have a place: see [Options.plan].
func (t *trial) withKey(key string) json.RawMessage {
	args, _ := jsonedit.WithText(t.args, t.plan.Key, key)
	return args
}

// judge compares the state after a run of the treatment with that after one call.
func (t *trial) judge(after any) {
	before, once, why := t.before, t.once, t.unlike
	d, moved := differ(before, once, after), !same(once, after)
	reordered := moved && same(sorted(once), sorted(after))
	whole := t.looked && same(t.middle, once) // the first call did all of its work
	// Then what has changed since, the second call changed; or a restart, or what goes on in a call that was given up.
	second := whole && t.treatment.name != restarting && t.treatment.name != inTheMiddle
	// What is there more is then the first call's, such as a lock that it took and was cancelled with.
	idle := t.failed != nil && t.looked && same(t.middle, after)
	fails := ""
	if t.failed != nil {
		fails = fmt.Sprintf("the call fails %d times: %s", mostCalls, usercode.ErrorText(t.failed))
	}
	if why == "" && t.found.verdict == "" {
		effect := graverEffect(effectOf(before, once), effectOf(before, after))
		switch {
		case second:
			effect = graverEffect(effectOf(before, once), effectOf(once, after))
		case t.treatment.name == restarting: // what the restart did to the state, no call did
			effect = graverEffect(effectOf(before, once), effectOf(t.restarted, after))
		}
		if t.looked && same(before, once) { // a call that was cancelled may leave what one that ends takes away
			effect = graverEffect(effect, effectOf(before, t.middle))
		}
		t.evidence.Effect = graverEffect(t.evidence.Effect, effect)
	}
	switch {
	case !t.o.fresh() && (why != "" || same(before, once)):
		t.conclude(Unknown, cmp.Or(why, "the first call changed nothing: its work may have been done before"))
	case why == "" && moved && d.more && !reordered && !idle:
		t.conclude(Doubles, "the work is done more than once: "+d.text)
	case t.failed != nil && why == "" && !moved && !same(before, once):
		t.conclude(Wedged, "the work was done once, and a caller who lost the reply does not learn it: "+fails)
	case t.failed != nil:
		t.conclude(Wedged, fails)
	case why != "":
		t.conclude(Unknown, why)
	case reordered:
		t.conclude(Unknown, "the state differs from that of one call in the order of a list")
	case moved && second && same(before, after):
		t.conclude(Doubles, "the second call undoes the first: "+d.text)
	case moved && (second || !d.less && (whole || t.treatment.name == together)):
		t.conclude(Doubles, "the second call changes what the first one did: "+d.text)
	case moved:
		t.conclude(PartlyDone, "the call succeeds, and its work is not done as by one call: "+d.text)
	case same(before, once) && !claims(t.plan.Claims.ReadOnly):
		t.conclude(Unknown, "one call changes nothing in the state, which may not show what the tool does")
	case t.untried != "":
		t.conclude(NotTried, t.untried)
	default:
		t.conclude(Safe, "")
	}
}
