package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
)

// A ledger is the state of a tool of a test: counts by name.
type ledger struct {
	mu sync.Mutex
	n  map[string]int
}

func (l *ledger) add(name string, n int) (before int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.n[name]
	if l.n[name] += n; l.n[name] == 0 {
		delete(l.n, name)
	}
	return before
}

func (l *ledger) state(context.Context) (any, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return json.Marshal(l.n)
}

// auditTool audits a tool "t" over a ledger, with the arguments {"a":1,"b":{"c":2,"d":[3]}}. made is the number of worlds
// made before this one.
func auditTool(t *testing.T, change func(*audit.Options), tool func(ctx context.Context, l *ledger, args json.RawMessage, made int) error) audit.ToolResult {
	t.Helper()
	var made atomic.Int64
	o := &audit.Options{Sandbox: true, Example: map[string]json.RawMessage{"t": json.RawMessage(`{"a":1,"b":{"c":2,"d":[3]}}`)}}
	o.NewWorld = func(context.Context) (*audit.World, error) {
		l, n := &ledger{n: map[string]int{"old": 1}}, int(made.Add(1)-1)
		return &audit.World{Tools: bare{func(ctx context.Context, args json.RawMessage) error { return tool(ctx, l, args, n) }},
			State: func(ctx context.Context) (any, error) {
				doc, err := l.state(ctx)
				return json.RawMessage(doc.([]byte)), err
			}}, nil
	}
	if change != nil {
		change(o)
	}
	return run(t, o).Tools[0]
}

// bare is a registry of one tool that sees the bytes of its arguments.
type bare struct {
	call func(context.Context, json.RawMessage) error
}

func (bare) Tools(context.Context) ([]chaos.Tool, error) { return []chaos.Tool{{Name: "t"}}, nil }
func (b bare) CallTool(ctx context.Context, _ string, args json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`"ok"`), b.call(ctx, args)
}

func verdicts(t audit.ToolResult) map[string]audit.Verdict {
	all := map[string]audit.Verdict{}
	for _, e := range t.Evidence {
		all[e.Treatment] = e.Verdict
	}
	return all
}

// A tool that knows a request by the bytes of its arguments does it twice for a client that spells them otherwise.
func TestOtherSpelling(t *testing.T) {
	for _, tc := range []struct {
		reason string
		key    func(args json.RawMessage) string
		want   audit.Verdict
	}{
		{"by its bytes", func(args json.RawMessage) string { return string(args) }, audit.Doubles},
		{"by its value", func(args json.RawMessage) string {
			var v any
			_ = json.Unmarshal(args, &v)
			return fmt.Sprint(v)
		}, audit.Safe},
	} {
		tool := auditTool(t, nil, func(ctx context.Context, l *ledger, args json.RawMessage, _ int) error {
			if l.add(tc.key(args), 1) == 0 {
				l.add("paid", 1)
			} else {
				l.add(tc.key(args), -1)
			}
			time.Sleep(time.Second)
			return nil
		})
		assert.Equal(t, tc.want, verdicts(tool)["other-spelling"], tc.reason)
		assert.Equal(t, audit.Safe, verdicts(tool)["twice"], tc.reason)
	}
}

// Objects in lists are spelled otherwise, too. Where only white space could be, the tool is safe without that treatment.
func TestOtherSpellingOf(t *testing.T) {
	for args, want := range map[string][2]audit.Verdict{
		`{"a":[{"b":1,"c":2}]}`:      {audit.Doubles, audit.Doubles},
		`{"a":[[3,{"b":1,"c":[]}]]}`: {audit.Doubles, audit.Doubles},
		`{"a":[2,1]}`:                {audit.NotTried, audit.Safe},
		`{}`:                         {audit.NotTried, audit.Safe},
		`{"a":1,"a":2}`:              {audit.NotTried, audit.Safe},
	} {
		tool := auditTool(t, func(o *audit.Options) { o.Example["t"] = json.RawMessage(args) },
			func(_ context.Context, l *ledger, args json.RawMessage, _ int) error {
				var sent bytes.Buffer
				if err := json.Compact(&sent, args); err != nil {
					return err
				}
				var lists struct{ A any }
				if err := json.Unmarshal(args, &lists); err != nil {
					return err
				}
				l.add(fmt.Sprint(lists), 1-l.add(fmt.Sprint(lists), 0)) // a list keeps its order, whatever the spelling
				if l.add(sent.String(), 1) == 0 {
					l.add("paid", 1)
				} else {
					l.add(sent.String(), -1)
				}
				time.Sleep(time.Second)
				return nil
			})
		assert.Equal(t, want, [2]audit.Verdict{verdicts(tool)["other-spelling"], tool.Verdict}, "%s: %s", args, tool.Why)
	}
}

// A tool whose second call undoes the first does not do its work once, and removes what was there.
func TestToggle(t *testing.T) {
	claims := func(o *audit.Options) {
		o.Claims = map[string]audit.Claims{"t": {Destructive: new(false), Idempotent: new(true)}}
	}
	tool := auditTool(t, claims, func(_ context.Context, l *ledger, _ json.RawMessage, _ int) error {
		if l.add("label", 1) == 1 {
			l.add("label", -2)
		}
		time.Sleep(time.Second)
		return nil
	})
	assert.Equal(t, audit.Doubles, tool.Verdict)
	assert.Contains(t, tool.Evidence[2].Why, "the second call undoes the first")
	assert.Equal(t, audit.Contradicted, tool.Destructive, "one call only adds, the second removes")
	assert.Equal(t, audit.Contradicted, tool.Idempotent)
}

// A delete that says "not found" when it is called again leaves the state of one call; its caller does not learn it.
func TestDeleteNotFound(t *testing.T) {
	tool := auditTool(t, nil, func(_ context.Context, l *ledger, _ json.RawMessage, _ int) error {
		time.Sleep(time.Second)
		if l.add("old", -1) < 1 {
			l.add("old", 1)
			return errors.New("not found")
		}
		return nil
	})
	assert.Equal(t, audit.Wedged, tool.Verdict)
	assert.Contains(t, tool.Why, "the work was done once, and a caller who lost the reply does not learn it: the call fails 4 times: not found")
	assert.Contains(t, tool.Mend, "deleting what is gone succeeds")
}

// A lock that a cancelled call leaves is no work that is done again, also where the state shows it: no repeated call did any.
// Where repeated calls fail and do a part of the work each time, it is.
func TestLockLeft(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		refused int // what a call that is refused adds
		want    audit.Verdict
		says    string
		claim   audit.Standing
	}{
		{"the refused calls do nothing", 0, audit.Wedged, "the call fails 4 times: locked", audit.NotDecided},
		{"each refused call does the work", 1, audit.Doubles, `the work is done more than once: "/done" is 4, and after one call 1`, audit.Contradicted},
	} {
		claims := func(o *audit.Options) { o.Claims = map[string]audit.Claims{"t": {Idempotent: new(true)}} }
		tool := auditTool(t, claims, func(ctx context.Context, l *ledger, _ json.RawMessage, _ int) error {
			switch before := l.add("locked", 1); {
			case before > 0:
				l.add("locked", -1)
				l.add("done", tc.refused)
				return errors.New("locked")
			case l.add("done", 0) > 0:
				l.add("locked", -1)
				return nil
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
			l.add("done", 1)
			l.add("locked", -1)
			return nil
		})
		i := slices.IndexFunc(tool.Evidence, func(e audit.Evidence) bool { return e.Treatment == "cancelled" })
		assert.Equal(t, tc.says, tool.Evidence[i].Why, tc.reason)
		assert.Equal(t, []any{tc.want, tc.want, tc.claim}, []any{tool.Verdict, verdicts(tool)["cancelled"], tool.Idempotent}, tc.reason)
	}
}

// Work that is done later than Settle is not seen.
func TestSettle(t *testing.T) {
	for _, tc := range []struct {
		settle time.Duration
		want   audit.Verdict
	}{{0, audit.Safe}, {2 * time.Minute, audit.Doubles}} {
		tool := auditTool(t, func(o *audit.Options) { o.Settle = tc.settle }, func(_ context.Context, l *ledger, _ json.RawMessage, _ int) error {
			if l.add("paid", 1) > 0 {
				l.add("paid", -1)
				time.AfterFunc(time.Minute, func() { l.add("paid", 1) })
			}
			time.Sleep(time.Second)
			return nil
		})
		assert.Equal(t, tc.want, tool.Verdict, "%v: %s", tc.settle, tool.Why)
	}
}

// Work that one call does a moment after its answer is not taken for that of the treatment, which takes longer.
func TestLateWork(t *testing.T) {
	for _, tc := range []struct {
		reason              string
		takes, late, settle time.Duration
		want                audit.Verdict
	}{
		{"it is later than Settle", time.Millisecond, 300 * time.Millisecond, 0, audit.Unknown},
		{"Settle is long enough", time.Millisecond, 300 * time.Millisecond, time.Second, audit.Safe},
		{"only a treatment with a fault takes long enough to see it", time.Second, 3500 * time.Millisecond, 0, audit.Unknown},
	} {
		tool := auditTool(t, func(o *audit.Options) { o.Settle = tc.settle }, func(_ context.Context, l *ledger, _ json.RawMessage, _ int) error {
			time.Sleep(tc.takes)
			if l.add("asked", 1) > 0 {
				l.add("asked", -1)
				return nil
			}
			time.AfterFunc(tc.late, func() { l.add("paid", 1) })
			return nil
		})
		assert.Equal(t, tc.want, tool.Verdict, "%s: %s", tc.reason, tool.Why)
	}
}

// A state that does not come is not waited for longer than a call, and nothing is called where nothing shows what it does.
func TestStateThatDoesNotCome(t *testing.T) {
	var calls atomic.Int64
	tool := auditTool(t, func(o *audit.Options) {
		world := o.NewWorld
		o.Timeout = time.Second
		o.NewWorld = func(ctx context.Context) (*audit.World, error) {
			w, err := world(ctx)
			w.State = func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
			return w, err
		}
	}, func(context.Context, *ledger, json.RawMessage, int) error { calls.Add(1); return nil })
	assert.Equal(t, audit.Unknown, tool.Verdict)
	assert.Contains(t, tool.Why, "the state could not be read: context deadline exceeded")
	assert.Zero(t, calls.Load())
}

// What one run showed is looked at again: by chance it may not be so.
func TestOneOfTwoRuns(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		doubles func(repeated int) bool // in that of the worlds in which it is called again
		why     string
	}{
		{"each world doubles", func(int) bool { return true }, `the work is done more than once: "/paid" is 2, and after one call 1`},
		{"every other world does", func(n int) bool { return n%2 == 0 },
			`the work is done more than once: "/paid" is 2, and after one call 1 (in 1 of 2 runs)`},
	} {
		worlds := map[int]int{}
		tool := auditTool(t, func(o *audit.Options) { o.Every = time.Millisecond }, // so one treatment is made after the other
			func(_ context.Context, l *ledger, _ json.RawMessage, world int) error {
				if l.add("paid", 1) > 0 {
					l.mu.Lock()
					n, known := worlds[world]
					if !known {
						n = len(worlds)
						worlds[world] = n
					}
					l.mu.Unlock()
					if !tc.doubles(n) {
						l.add("paid", -1)
					}
				}
				time.Sleep(time.Second)
				return nil
			})
		assert.Equal(t, audit.Doubles, tool.Verdict, tc.reason)
		assert.Equal(t, tc.why, tool.Evidence[2].Why, tc.reason)
	}
}

// Two spellings of a number are one state; a number that takes much memory is compared, too.
func TestNumbers(t *testing.T) {
	for _, tc := range []struct {
		state []string // by calls
		want  audit.Verdict
	}{
		{[]string{`[0]`, `[1]`, `[1.0]`, `[1e0]`, `[10e-1]`}, audit.Safe},
		{[]string{`[0]`, `[1e999999999]`, `[10e999999998]`}, audit.Safe},
		{[]string{`[0]`, `[1e999999999]`, `[2e999999999]`}, audit.Doubles},
		{[]string{`[2e1]`, `[1e1]`, `[0e0]`}, audit.Doubles},
		{[]string{`[1,2]`, `[1,2,3]`, `[3.0,2,1]`}, audit.Unknown},
	} {
		tool := auditStates(t, audit.Claims{}, by(tc.state...), done, slices.Repeat([]time.Duration{time.Second}, 16)...)
		assert.Equal(t, tc.want, tool.Verdict, "%v: %s", tc.state, tool.Why)
	}
}

// A tool that keeps a part of its keys knows two keys from each other where their parts differ.
func TestPartsOfKeys(t *testing.T) {
	for _, part := range []func(key string) string{func(key string) string { return key[:1] }, func(key string) string { return key[:32] },
		func(key string) string { return key[len(key)-1:] }} {
		tool := auditTool(t, func(o *audit.Options) { o.Keys = map[string]string{"t": "/b/key"} },
			func(_ context.Context, l *ledger, args json.RawMessage, _ int) error {
				var in struct{ B struct{ Key string } }
				if err := json.Unmarshal(args, &in); err != nil {
					return err
				}
				if in.B.Key == "" || l.add(part(in.B.Key), 1) == 0 {
					l.add("paid", 1)
				} else {
					l.add(part(in.B.Key), -1)
				}
				time.Sleep(time.Second)
				return nil
			})
		assert.Equal(t, audit.SafeWithKey, tool.Verdict, tool.Why)
		assert.Equal(t, audit.Doubles, verdicts(tool)["other-key"])
	}
}

// Options.Keys names a key that no usual name tells.
func TestKeys(t *testing.T) {
	o := &audit.Options{Sandbox: true, Keys: map[string]string{"pay": "/meta/nonce"},
		NewWorld: func(context.Context) (*audit.World, error) {
			l, one := &ledger{n: map[string]int{}}, make(chan struct{}, 1)
			type in struct{ Meta struct{ Nonce string } }
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "pay"}, func(ctx context.Context, in in) (string, error) {
				one <- struct{}{}
				defer func() { <-one }()
				time.Sleep(time.Second)
				if in.Meta.Nonce == "" || l.add(in.Meta.Nonce, 1) == 0 {
					l.add("paid", 1)
				}
				return "paid", nil
			}))
			return &audit.World{Tools: tools, State: func(context.Context) (any, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.n["paid"], nil }}, err
		}}
	for _, tc := range []struct{ reason, args, refused string }{
		{"made arguments get one", ``, ""},
		{"an empty key is none, and is filled", `{"meta":{"nonce":""}}`, ""},
		{"there is no object to put it into", `{"meta":["x"]}`, "no place for the key /meta/nonce"},
	} {
		if tc.args != "" {
			o.Example = map[string]json.RawMessage{"pay": json.RawMessage(tc.args)}
		}
		if tc.refused != "" {
			l, err := audit.Plan(t.Context(), o)
			require.NoError(t, err)
			assert.Contains(t, l.Tools[0].Refused, tc.refused, tc.reason)
			continue
		}
		tool := run(t, o).Tools[0]
		assert.Equal(t, audit.SafeWithKey, tool.Verdict, "%s: %s", tc.reason, tool.Why)
		assert.Equal(t, "/meta/nonce", tool.Key)
	}
	for _, wrong := range []map[string]string{{"pay": "nonce"}, {"pay": ""}, {"pay": "/a~2"}, {"refund": "/nonce"}} {
		o.Keys = wrong
		_, err := audit.Plan(t.Context(), o)
		var field *audit.FieldError
		require.ErrorAs(t, err, &field, wrong)
		assert.Contains(t, err.Error(), "Keys")
	}
}

// A result is read as it was written, and what is wrong in it is said with its place.
func TestRead(t *testing.T) {
	for _, is := range []string{"safe-with-key", "doubles", "wedged-lock", "partly"} {
		r := run(t, &audit.Options{Sandbox: true, NewWorld: worlds(is, nil), Claims: map[string]audit.Claims{"pay": {Idempotent: new(true)}}})
		doc, err := json.Marshal(r)
		require.NoError(t, err)
		read, err := audit.Read(bytes.NewReader(doc))
		require.NoError(t, err, is)
		again, err := json.Marshal(read)
		require.NoError(t, err)
		assert.Equal(t, string(doc), string(again), is)
	}
	for _, tc := range []struct{ doc, want string }{
		{`{`, "audit: "},
		{`{}`, "/tools"},
		{`{"tools":[{"tool":"t","verdict":"fine","readOnly":"","idempotent":"","destructive":""}]}`, "/tools/0/verdict"},
		{`{"tools":[{"tool":"t","verdict":"safe","readOnly":"","idempotent":"","destructive":"","verdikt":1}]}`, "verdikt"},
		{`{"tools":[],"tools":[]}`, "/tools"},
		{`{"tools":[{"tool":"t","verdict":"safe","readOnly":"","idempotent":"","destructive":"","evidence":[{"tool":"t","treatment":"once",
			"verdict":"safe","calls":[{"of":"","args":{},"startNs":"1s","endNs":2}]}]}]}`, "startNs"},
	} {
		_, err := audit.Read(strings.NewReader(tc.doc))
		var wrong *audit.FieldError
		require.ErrorAs(t, err, &wrong, tc.doc)
		assert.Contains(t, err.Error(), tc.want)
	}
}

// A tool gets the effect and the key that calls in a row showed, whatever it declares.
func TestDeclare(t *testing.T) {
	declared := chaos.Tool{Name: "pay", IdempotencyKey: "/idempotency_key", Effect: chaos.EffectUnknown}
	for is, want := range map[string]chaos.Tool{
		"doubles":                {Effect: chaos.EffectDone, Audit: "it doubles"},
		"doubles-at-once":        {Effect: chaos.EffectUnknown, IdempotencyKey: declared.IdempotencyKey, Audit: "it doubles"},
		"safe":                   {Effect: chaos.EffectUnknown, IdempotencyKey: declared.IdempotencyKey},
		"reads":                  {Effect: chaos.EffectNone, IdempotencyKey: declared.IdempotencyKey},
		"safe-with-key":          {Effect: chaos.EffectDone, IdempotencyKey: declared.IdempotencyKey, Audit: "it is safe to repeat with the same idempotency key alone"},
		"safe-with-required-key": {Effect: chaos.EffectDone, IdempotencyKey: declared.IdempotencyKey, Audit: "it is safe to repeat with the same idempotency key alone"},
		"wedged-lock":            {Effect: chaos.EffectUnknown, IdempotencyKey: declared.IdempotencyKey, Audit: "a repeated call of it may fail for ever"},
	} {
		r := run(t, &audit.Options{Sandbox: true, NewWorld: worlds(is, nil)})
		tools, err := r.Declare(listed{declared, {Name: "other"}}).Tools(t.Context())
		require.NoError(t, err)
		want.Name = "pay"
		assert.Equal(t, []chaos.Tool{want, {Name: "other"}}, tools, is)
	}
}

// A tool that ends when it is called at once is not safe there, although one of the calls was answered.
func TestEndsAtOnce(t *testing.T) {
	var gone sync.Map // worlds
	tool := auditTool(t, nil, func(_ context.Context, l *ledger, _ json.RawMessage, world int) error {
		defer l.add("under way", -1)
		if l.add("under way", 1) > 0 {
			gone.Store(world, true)
		}
		if _, is := gone.Load(world); is {
			return errors.New("the process has ended")
		}
		time.Sleep(time.Second)
		if l.add("paid", 1) > 0 {
			l.add("paid", -1)
		}
		return nil
	})
	assert.Equal(t, audit.Safe, verdicts(tool)["twice"])
	assert.Equal(t, audit.Wedged, verdicts(tool)["at-once"])
	assert.Contains(t, tool.Why, "at-once: the work was done once, and a caller who lost the reply does not learn it: the call fails 4 times: the process has ended")
}
