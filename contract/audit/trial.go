package audit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A Call is a call that the audit sent.
type Call struct {
	// Of is "one call" or "one call, again" for the two that give the state of one call, else "treatment".
	Of     string          `json:"of"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result,omitempty"`
	Err    string          `json:"err,omitempty"`
	// Start and End are times since the treatment began. End is 0 for a call that had not ended.
	Start time.Duration `json:"startNs"`
	End   time.Duration `json:"endNs,omitempty"`
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

// A trial is one treatment of one tool in one world.
type trial struct {
	o         *Options
	plan      *Planned
	treatment *treatment
	world     *World
	tools     chaos.ToolRegistry // of the world, with the faults of the treatment
	of        string             // see Call
	args      json.RawMessage
	otherKey  string
	began     time.Time
	took      time.Duration // by one call
	failed    error         // of the call whose answer counts
	concluded bool
	middle    any // the state after the first call; nil: not read
	lookErr   error

	mu       sync.Mutex
	evidence Evidence
	left     []<-chan error // calls that were given up
}

func (t *trial) conclude(v Verdict, why string) {
	if !t.concluded {
		t.concluded, t.evidence.Verdict, t.evidence.Why = true, v, why
	}
}

// call calls the tool once, and keeps the error as that of the caller's last answer.
func (t *trial) call(ctx context.Context, args json.RawMessage) error {
	t.failed = t.callOnly(ctx, args)
	return t.failed
}

// callOnly calls the tool as a client does: who gives up does not wait for the tool.
func (t *trial) callOnly(ctx context.Context, args json.RawMessage) error {
	if t.o.Every > 0 {
		pause(ctx, t.o.Every)
	}
	limit := t.o.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t.mu.Lock()
	i := len(t.evidence.Calls)
	t.evidence.Calls = append(t.evidence.Calls, Call{Of: t.of, Args: args, Start: time.Since(t.began)})
	t.mu.Unlock()
	var result json.RawMessage
	ended := usercode.Go(nil, func() (err error) {
		result, err = t.tools.CallTool(ctx, t.plan.Tool, args)
		return err
	})
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		t.mu.Lock()
		t.left = append(t.left, ended)
		t.evidence.Calls[i].Err = err.Error()
		t.mu.Unlock()
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.evidence.Calls[i]
	if c.End = time.Since(t.began); err != nil {
		c.Err = usercode.ErrorText(err)
	} else {
		c.Result = kept(result)
	}
	return err
}

// again calls the tool until it succeeds, a few times.
func (t *trial) again(ctx context.Context, args json.RawMessage) {
	for range retries {
		if t.call(ctx, args) == nil || ctx.Err() != nil {
			return
		}
		pause(ctx, retryAfter)
	}
	t.call(ctx, args)
}

// settle waits for calls that were given up, and for what the tool does after its answer.
func (t *trial) settle(ctx context.Context) {
	for _, ended := range t.left {
		select {
		case <-ended:
		case <-time.After(defaultTimeout):
			t.conclude(Unknown, "a call that was given up had not ended after "+defaultTimeout.String())
		}
	}
	t.left = nil
	wait := t.o.Settle
	if wait == 0 {
		wait = max(2*t.took, leastSettle)
	}
	pause(ctx, wait)
}

func (t *trial) state(ctx context.Context, when string) (any, error) {
	v, err := t.o.state(chaos.NewContext(ctx, nil), t.world)
	if err == nil {
		t.evidence.States = append(t.evidence.States, State{when, kept([]byte(shownWhole(v)))})
	}
	return v, err
}

// look reads the state after the first call.
func (t *trial) look(ctx context.Context) {
	if !t.o.fresh() {
		t.settle(ctx)
	}
	t.middle, t.lookErr = t.state(ctx, "after the first call")
}

func kept(doc []byte) json.RawMessage {
	if len(doc) > mostValue || !json.Valid(doc) {
		doc, _ = json.Marshal(fmt.Sprintf("%s … (%d bytes)", doc[:min(len(doc), mostValue)], len(doc))) //nolint:errcheck // a string
	}
	return doc
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// run makes the treatment in a world, which is in its first state, and judges it.
func (t *trial) run(ctx context.Context, w *World, tools chaos.ToolRegistry) *Evidence {
	t.began, t.evidence.Tool, t.evidence.Treatment = time.Now(), t.plan.Tool, t.treatment.name
	t.choose()
	if !t.o.fresh() {
		t.live(ctx, w, tools)
		return &t.evidence
	}
	var before, once any
	var known error
	for i, of := range []string{"one call", "one call, again"} {
		b, o, err := t.one(chaos.NewContext(ctx, nil), of)
		switch {
		case t.concluded:
			return &t.evidence
		case err != nil:
			known = err
		case i == 0:
			before, once = b, o
		case !same(before, b):
			known = errors.New("two fresh worlds begin with different states")
		case !same(once, o):
			known = errors.New("one call in two fresh worlds leaves different states: leave out ids and times")
		}
	}
	if known == nil {
		t.evidence.Effect = effectOf(before, once)
	}
	if t.o.NewWorld == nil {
		if _, _, err := t.o.open(chaos.NewContext(ctx, nil)); err != nil {
			t.conclude(Unknown, "the world could not be reset: "+err.Error())
			return &t.evidence
		}
	}
	t.of, t.world, t.tools = "treatment", w, tools
	begin, err := t.state(ctx, "before")
	if known == nil && err == nil && !same(begin, before) {
		known = errors.New("two fresh worlds begin with different states")
	}
	t.treatment.run(ctx, t)
	t.settle(ctx)
	after, err := t.state(ctx, "after")
	if known == nil {
		known = err
	}
	t.judge(before, once, after, known)
	return &t.evidence
}

// choose decides which idempotency keys the calls have. A world that goes on living needs new ones.
func (t *trial) choose() {
	t.args, t.otherKey = t.plan.args, otherKey
	if t.plan.Key == "" {
		return
	}
	first := firstKey
	if !t.o.fresh() {
		first, t.otherKey = newKey(), newKey()
	}
	_, given := valueAt(t.args, t.plan.Key)
	switch {
	case t.treatment.key == noKey:
		t.args = withKey(t.args, t.plan.Key, nil)
	case !given || t.plan.Made || !t.o.fresh():
		t.args = withKey(t.args, t.plan.Key, first)
	}
}

func newKey() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	b[6], b[8] = b[6]&15|64, b[8]&63|128
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// one makes one call in a fresh world, and returns the states before and after it.
func (t *trial) one(ctx context.Context, of string) (before, after any, err error) {
	w, closing, err := t.o.open(ctx)
	if err != nil {
		t.conclude(Unknown, "a fresh world could not be made: "+err.Error())
		return nil, nil, err
	}
	defer func() {
		if failed := closing(); failed != nil {
			t.conclude(Unknown, "a world could not be closed: "+failed.Error())
		}
	}()
	t.of, t.world, t.tools = of, w, w.Tools
	if before, err = t.state(ctx, "before "+of); err != nil && !errors.Is(err, errNoState) {
		t.conclude(Unknown, err.Error())
		return nil, nil, err
	}
	begin := time.Now()
	if failed := t.call(ctx, t.args); failed != nil {
		t.conclude(Unknown, "the example call fails: "+usercode.ErrorText(failed))
		return nil, nil, failed
	}
	t.took = time.Since(begin) - t.o.Every
	t.settle(ctx)
	after, err = t.state(ctx, "after "+of)
	return before, after, err
}

// live makes the treatment in a world that nobody resets, and looks at what the second call changes.
func (t *trial) live(ctx context.Context, w *World, tools chaos.ToolRegistry) {
	t.of, t.world, t.tools = "treatment", w, tools
	before, err := t.state(ctx, "before")
	t.settle(ctx)
	if still, failed := t.state(ctx, "before, a moment later"); err == nil && failed == nil && !same(before, still) {
		t.conclude(Unknown, "the state changes without a call")
		return
	}
	t.treatment.run(ctx, t)
	t.settle(ctx)
	after, failed := t.state(ctx, "after")
	first := t.middle
	switch {
	case t.concluded:
	case errors.Join(err, failed, t.lookErr) != nil:
		t.conclude(Unknown, errors.Join(err, failed, t.lookErr).Error())
	case same(before, first):
		t.conclude(Unknown, "the first call changed nothing here: its work may have been done before")
	case !same(first, after):
		t.evidence.Effect = effectOf(before, first)
		t.conclude(Doubles, "the second call changed the state again: "+differ(before, first, after).first)
	case t.failed != nil:
		t.conclude(Wedged, wedgedWhy(t.failed))
	default:
		t.evidence.Effect = effectOf(before, first)
		t.conclude(Safe, "")
	}
}

func wedgedWhy(err error) string {
	return fmt.Sprintf("the call fails again and again, %d times: %s", retries+1, usercode.ErrorText(err))
}

// judge compares the state after the treatment with that after one call. known is why they cannot be compared.
func (t *trial) judge(before, once, after any, known error) {
	d := differ(before, once, after)
	moved := !same(once, after)
	readOnly := claims(t.plan.Claims.ReadOnly)
	switch {
	case t.concluded:
	case known == nil && moved && d.more:
		t.conclude(Doubles, "the work is done more than once: "+d.first)
	case t.failed != nil:
		t.conclude(Wedged, wedgedWhy(t.failed))
	case known != nil:
		t.conclude(Unknown, known.Error())
	case moved && same(sorted(once), sorted(after)):
		t.conclude(Unknown, "the state differs from that of one call in the order of a list")
	case moved && !d.less && (t.treatment.name == "at-once" || same(t.middle, once)):
		t.conclude(Doubles, "the second call changes what the first one did: "+d.first)
	case moved:
		t.conclude(PartlyDone, "the call succeeds, and its work is not done as by one call: "+d.first)
	case same(before, once) && !readOnly:
		t.conclude(Unknown, "one call changes nothing in the state: the state may not show what the tool does")
	default:
		t.conclude(Safe, "")
	}
}

func valueAt(args json.RawMessage, pointer string) (v any, ok bool) {
	if json.Unmarshal(args, &v) != nil {
		return nil, false
	}
	for _, name := range jsonedit.PointerKeys(pointer) {
		object, isObject := v.(map[string]any)
		if v, ok = object[name]; !isObject || !ok {
			return nil, false
		}
	}
	return v, true
}
