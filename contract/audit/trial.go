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
	// Of is "one call" or "one call, again" for the two that give the state of one call, else "treatment".
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
	// Effect is what one call does to the state: "none", "adds", "changes" or "removes"; empty: not known.
	Effect string  `json:"effect,omitempty"`
	Calls  []Call  `json:"calls,omitempty"`
	States []State `json:"states,omitempty"`
}

// A trial is one treatment of one tool.
type trial struct {
	o            *Options
	plan         *Planned
	treatment    *treatment
	world        *World
	tools        chaos.ToolRegistry // of the world, with the faults of the treatment
	of           string             // see Call
	args, second json.RawMessage    // of the first call, and of the second
	began        time.Time
	took         time.Duration // by one call
	failed       error         // of the call whose answer counts
	untried      string        // why the treatment was not what it should be; empty: it was
	middle       any           // the state after the first call; nil: not read

	mu       sync.Mutex
	evidence Evidence
	left     []<-chan error // calls that were given up
}

// conclude decides the treatment, unless it is decided.
func (t *trial) conclude(v Verdict, why string) {
	if t.evidence.Verdict == "" {
		t.evidence.Verdict, t.evidence.Why = v, why
	}
}

// call calls the tool as a client does: who gives up does not wait for the tool.
func (t *trial) call(ctx context.Context, args json.RawMessage) error {
	pause(ctx, t.o.Every)
	ctx, cancel := context.WithTimeout(ctx, t.o.timeout())
	defer cancel()
	t.mu.Lock()
	i := len(t.evidence.Calls)
	t.evidence.Calls = append(t.evidence.Calls, Call{Of: t.of, Args: args, Start: time.Since(t.began)})
	t.mu.Unlock()
	var result json.RawMessage
	ended := usercode.Go(nil, func() (err error) {
		result, err = t.tools.CallTool(ctx, t.plan.Tool, slices.Clone(args)) // a tool may write to them
		return cmp.Or(err, refusal(result))
	})
	var err error
	given := false
	select {
	case err = <-ended:
	case <-ctx.Done():
		given, err = true, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.evidence.Calls[i]
	switch c.End = time.Since(t.began); {
	case given:
		t.left = append(t.left, ended)
		fallthrough
	case err != nil:
		c.Err = usercode.ErrorText(err)
	default:
		c.Result = kept(result)
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
		pause(ctx, max(2*t.took, leastSettle))
	}
}

// state reads the state of the world; an error of it decides the treatment, except that there is none.
func (t *trial) state(ctx context.Context, when string) any {
	v, err := t.o.state(chaos.NewContext(ctx, nil), t.world)
	switch {
	case err == nil:
		t.evidence.States = append(t.evidence.States, State{when, kept(jsonvalue.Document(v))})
	case !errors.Is(err, errNoState):
		t.conclude(Unknown, err.Error())
	}
	return v
}

// look reads the state after the first call.
func (t *trial) look(ctx context.Context) {
	if !t.o.fresh() {
		if t.failed != nil {
			t.conclude(Unknown, "the first call fails: "+usercode.ErrorText(t.failed))
		}
		t.settle(ctx)
	}
	t.middle = t.state(ctx, "after the first call")
}

func kept(doc []byte) json.RawMessage {
	if len(doc) > mostValue || !json.Valid(doc) {
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
func (t *trial) run(ctx context.Context, w *World, tools chaos.ToolRegistry) (doc []byte, err error) {
	defer usercode.Recover(&err, "a function of the options")
	t.make(ctx, w, tools)
	return json.Marshal(&t.evidence)
}

// make makes the treatment in a world, which is in its first state, and judges it.
func (t *trial) make(ctx context.Context, w *World, tools chaos.ToolRegistry) {
	t.began, t.evidence.Tool, t.evidence.Treatment = time.Now(), t.plan.Tool, t.treatment.name
	t.choose()
	var before, once any
	why := "" // the state of one call is not known
	if t.o.fresh() {
		var b, o any
		before, once = t.one(ctx, "one call")
		b, o = t.one(ctx, "one call, again")
		switch {
		case !same(before, b):
			why = "two fresh worlds begin with different states"
		case !same(once, o):
			why = "one call leaves different states in two fresh worlds: the state should leave out ids and times"
		}
	}
	if t.o.Reset != nil {
		if err := t.o.Reset(chaos.NewContext(ctx, nil)); err != nil {
			t.conclude(Unknown, "the world could not be reset: "+err.Error())
		}
	}
	if t.evidence.Verdict != "" {
		return
	}
	t.of, t.world, t.tools = "treatment", w, tools
	begin := t.state(ctx, "before")
	if !t.o.fresh() {
		t.settle(ctx)
		before = t.state(ctx, "before, a moment later")
	}
	if !same(begin, before) {
		why = cmp.Or(why, "the state before the treatment differs without a call")
	}
	t.treatment.run(ctx, t)
	t.settle(ctx)
	after := t.state(ctx, "after")
	if !t.o.fresh() {
		once = t.middle
	}
	if ctx.Err() != nil {
		t.conclude(Unknown, "the run was ended")
	}
	t.judge(before, once, after, why)
}

// choose decides which idempotency keys the calls have. A world that nobody resets needs new ones.
func (t *trial) choose() {
	t.args, t.second = t.plan.args, t.plan.args
	if t.plan.Key == "" {
		return
	}
	first, other := firstKey, otherKey
	if !t.o.fresh() {
		first, other = rand.Text(), rand.Text()
	}
	_, _, given := jsonedit.MemberAt(t.args, t.plan.Key)
	switch {
	case t.treatment.keyless:
		t.args = withKey(t.args, t.plan.Key, nil)
	case !given || t.plan.Made || !t.o.fresh():
		t.args = withKey(t.args, t.plan.Key, first)
	}
	if t.second = t.args; t.treatment.informs && !t.treatment.keyless {
		t.second = withKey(t.args, t.plan.Key, other)
	}
}

// one makes one call in a fresh world, and returns the states before and after it.
func (t *trial) one(ctx context.Context, of string) (before, after any) {
	ctx = chaos.NewContext(ctx, nil)
	w, closing, err := t.o.open(ctx)
	if err != nil {
		t.conclude(Unknown, "a fresh world could not be made: "+err.Error())
		return nil, nil
	}
	t.of, t.world, t.tools = of, w, w.Tools
	before = t.state(ctx, "before "+of)
	began := time.Now()
	if failed := t.call(ctx, t.args); failed != nil {
		t.conclude(Unknown, "the example call fails: "+usercode.ErrorText(failed))
	}
	t.took = time.Since(began) - t.o.Every
	t.settle(ctx)
	after = t.state(ctx, "after "+of)
	if err := closing(); err != nil {
		t.conclude(Unknown, "a world could not be closed: "+err.Error())
	}
	return before, after
}

// judge compares the state after the treatment with that after one call. why is why they cannot be compared.
func (t *trial) judge(before, once, after any, why string) {
	if len(t.evidence.States) == 0 {
		why = errNoState.Error()
	}
	d, moved := differ(before, once, after), !same(once, after)
	reordered := moved && same(sorted(once), sorted(after))
	if why == "" {
		t.evidence.Effect = effectOf(before, once)
	}
	switch {
	case !t.o.fresh() && (why != "" || same(before, once)):
		t.conclude(Unknown, cmp.Or(why, "the first call changed nothing: its work may have been done before"))
	case why == "" && moved && d.more && !reordered:
		t.conclude(Doubles, "the work is done more than once: "+d.text)
	case t.failed != nil:
		t.conclude(Wedged, fmt.Sprintf("the call fails %d times: %s", mostCalls, usercode.ErrorText(t.failed)))
	case why != "":
		t.conclude(Unknown, why)
	case reordered:
		t.conclude(Unknown, "the state differs from that of one call in the order of a list")
	case moved && !d.less && (t.treatment.name == "at-once" || same(t.middle, once)):
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
