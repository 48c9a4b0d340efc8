package audit_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/contract/report"
)

var usual = [3]time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 10 * time.Millisecond}

// worlds returns NewWorld of a planted tool, with worlds that are changed.
func worlds(is string, change func(w *audit.World)) func(context.Context) (*audit.World, error) {
	return func(context.Context) (*audit.World, error) {
		w, err := planted{is: is, steps: usual, deaf: is == "wedged-refuses"}.world()
		if change != nil {
			change(w)
		}
		return w, err
	}
}

func run(t *testing.T, o *audit.Options) (r *audit.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		r, err = audit.Run(t.Context(), o, nil)
		require.NoError(t, err)
	})
	return r
}

// What cannot be told is unknown, whatever the tool is.
func TestUnknown(t *testing.T) {
	var worldsMade atomic.Int64
	for _, tc := range []struct {
		reason, why string
		change      func(*audit.World)
	}{
		{"there is no state", "the state is not known", func(w *audit.World) { w.State = nil }},
		{"the state does not show the work", "may not show", func(w *audit.World) {
			w.State = func(context.Context) (any, error) { return 1, nil }
		}},
		{"the state has an id of its world", "begin with different states", func(w *audit.World) {
			n := worldsMade.Add(1)
			w.State = func(context.Context) (any, error) { return n, nil }
		}},
		{"the state has a time", "in two fresh worlds", func(w *audit.World) {
			state, began := w.State, worldsMade.Add(1)
			unpaid := ""
			w.State = func(ctx context.Context) (any, error) {
				v, err := state(ctx)
				if unpaid = cmp.Or(unpaid, fmt.Sprint(v)); fmt.Sprint(v) == unpaid {
					return []any{v, 0}, err
				}
				return []any{v, began}, err
			}
		}},
		{"the state counts how often it is read", "changes without a call", func(w *audit.World) {
			state, read := w.State, 0
			w.State = func(ctx context.Context) (any, error) {
				v, err := state(ctx)
				read++
				return []any{v, read}, err
			}
		}},
		{"the state cannot be read", "no database", func(w *audit.World) {
			w.State = func(context.Context) (any, error) { return nil, errors.New("no database") }
		}},
		{"the example call fails", "the example call fails: no", func(w *audit.World) {
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "pay"}, func(context.Context, order) (string, error) {
				return "", errors.New("no")
			}))
			require.NoError(t, err)
			w.Tools = tools
		}},
	} {
		for _, is := range []string{"safe", "doubles"} {
			tool := run(t, &audit.Options{Sandbox: true, NewWorld: worlds(is, tc.change)}).Tools[0]
			assert.Equal(t, audit.Unknown, tool.Verdict, "%s: %s", tc.reason, is)
			assert.Contains(t, tool.Why, tc.why, tc.reason)
		}
	}
}

// A world that nobody resets shows what doubles, and nothing that is safe.
func TestLiveWorld(t *testing.T) {
	for _, tc := range []struct {
		is   string
		want audit.Verdict
	}{
		{"doubles", audit.Doubles}, {"doubles-after-restart", audit.Unknown}, {"safe", audit.Unknown},
		{"safe-with-required-key", audit.Unknown}, {"reads", audit.Unknown},
		{"fails-at-first", audit.Unknown},
	} {
		w, err := planted{is: tc.is, steps: usual}.world()
		require.NoError(t, err)
		tool := run(t, &audit.Options{Sandbox: true, World: w}).Tools[0]
		assert.Equal(t, tc.want, tool.Verdict, "%s: %s", tc.is, tool.Why)
		assert.Contains(t, tool.NotTried, "at-once", tc.is)
	}
}

// In a world that nobody resets, what the first call does late is not taken for the work of the second.
func TestLateWorkInALiveWorld(t *testing.T) {
	for _, tc := range []struct {
		reason              string
		late, second, start time.Duration // after the first call; a later call takes; it fails before
		want                audit.Verdict
	}{
		{"after Settle", 90 * time.Millisecond, 0, 0, audit.Unknown},
		{"while a slow second call is made", 500 * time.Millisecond, time.Second, 0, audit.Unknown},
		{"while a second call is refused", 2500 * time.Millisecond, 0, 2500 * time.Millisecond, audit.Unknown},
		{"within Settle", 20 * time.Millisecond, 0, 0, audit.Unknown},
		{"each call does its work", 0, 0, 0, audit.Doubles},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &ledger{n: map[string]int{}}
			began := time.Now()
			w := &audit.World{Tools: bare{func(context.Context, json.RawMessage) error {
				if tc.late == 0 {
					l.add("paid", 1)
					return nil
				}
				if l.add("asked", 1) == 0 {
					time.AfterFunc(tc.late, func() { l.add("paid", 1) })
					began = time.Now()
					return nil
				}
				l.add("asked", -1)
				if time.Since(began) < tc.start {
					return errors.New("in progress")
				}
				time.Sleep(tc.second)
				return nil
			}}, State: func(ctx context.Context) (any, error) {
				doc, err := l.state(ctx)
				return json.RawMessage(doc.([]byte)), err
			}}
			r, err := audit.Run(t.Context(), &audit.Options{Sandbox: true, World: w}, nil)
			require.NoError(t, err)
			assert.Equal(t, tc.want, r.Tools[0].Verdict, "%s: %s", tc.reason, r.Tools[0].Why)
		})
	}
}

// A reset is as good as a fresh world.
func TestReset(t *testing.T) {
	for _, is := range []string{"safe", "safe-with-key", "doubles", "doubles-after-restart", "wedged-lock", "partly"} {
		w, want := new(audit.World), semantics[is]
		reset := func(context.Context) error {
			fresh, err := planted{is: is, steps: usual, deaf: is == "wedged-refuses"}.world()
			if err == nil {
				*w = *fresh
			}
			return err
		}
		require.NoError(t, reset(t.Context()))
		first := &hand{w}
		shared := &audit.World{Tools: first, State: func(ctx context.Context) (any, error) { return w.State(ctx) },
			Restart: func(ctx context.Context) error { return w.Restart(ctx) }}
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, reset(t.Context()))
			r, err := audit.Run(t.Context(), &audit.Options{Sandbox: true, World: shared, Reset: reset}, nil)
			require.NoError(t, err)
			assert.Equal(t, want, r.Tools[0].Verdict, "%s: %s", is, r.Tools[0].Why)
		})
	}
}

// hand calls the tools that its world has now.
type hand struct{ w *audit.World }

func (h *hand) Tools(ctx context.Context) ([]chaos.Tool, error) { return h.w.Tools.Tools(ctx) }
func (h *hand) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	return h.w.Tools.CallTool(ctx, name, args)
}

// counted counts the calls that reach its tools.
type counted struct {
	chaos.ToolRegistry
	mu    *sync.Mutex
	calls map[string]int
}

func (c counted) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	c.mu.Lock()
	c.calls[name]++
	c.mu.Unlock()
	return c.ToolRegistry.CallTool(ctx, name, args)
}

func TestNothingRunsUnasked(t *testing.T) {
	calls, mu := map[string]int{}, new(sync.Mutex)
	tool := func(name string) chaos.ToolFunc {
		return chaos.Func(chaos.Tool{Name: name}, func(context.Context, struct{}) (string, error) { return "", nil })
	}
	o := func(change func(*audit.Options)) *audit.Options {
		o := &audit.Options{Claims: map[string]audit.Claims{"drop": {Destructive: new(true)}},
			NewWorld: func(context.Context) (*audit.World, error) {
				tools, err := chaos.NewRegistry(tool("drop"), tool("add"), tool("state"))
				return &audit.World{Tools: counted{tools, mu, calls}}, err
			}}
		change(o)
		return o
	}
	var wrong *audit.FieldError
	_, err := audit.Run(t.Context(), o(func(*audit.Options) {}), nil)
	assert.ErrorAs(t, err, &wrong, "nothing is allowed")
	_, err = audit.Plan(t.Context(), o(func(o *audit.Options) { o.Allow = []string{"drop", "add"} }))
	require.NoError(t, err)
	_, err = audit.Run(t.Context(), o(func(o *audit.Options) { o.Allow = []string{"dorp"} }), nil)
	assert.ErrorContains(t, err, "drop", "a name that is no tool")
	_, err = audit.Run(t.Context(), o(func(o *audit.Options) {
		o.Sandbox, o.Claims["add"], o.Claims["state"] = true, o.Claims["drop"], o.Claims["drop"]
	}), nil)
	assert.EqualError(t, err, "audit: Allow is no tool that may be called; drop: it claims to be destructive, and is not allowed by its name, "+
		"add: it claims to be destructive, and is not allowed by its name, state: it claims to be destructive, and is not allowed by its name; "+
		"allowed: the name of a tool: Sandbox is set, and allows none of these")
	assert.Empty(t, calls)

	run(t, o(func(o *audit.Options) { o.Sandbox, o.StateTool = true, "state" }))
	assert.Positive(t, calls["add"])
	assert.Positive(t, calls["state"])
	assert.Zero(t, calls["drop"], "it claims to be destructive, and is not named")

	clear(calls)
	r := run(t, o(func(o *audit.Options) { o.Allow = []string{"drop"} }))
	assert.Zero(t, calls["add"])
	sent := 0
	for _, e := range r.Tools[0].Evidence {
		sent += len(e.Calls)
		if e.Treatment == "timed-out" {
			sent-- // it did not reach the tool
		}
	}
	assert.Equal(t, calls["drop"], sent, "all that was sent is in the result")
}

func TestOptions(t *testing.T) {
	w, err := planted{is: "safe"}.world()
	require.NoError(t, err)
	for _, tc := range []struct {
		reason string
		o      *audit.Options
	}{
		{"nil", nil},
		{"no world", &audit.Options{}},
		{"two worlds", &audit.Options{World: w, NewWorld: worlds("safe", nil)}},
		{"a reset without a world", &audit.Options{NewWorld: worlds("safe", nil), Reset: func(context.Context) error { return nil }}},
		{"no tools", &audit.Options{World: &audit.World{}}},
		{"arguments that are no object", &audit.Options{World: w, Example: map[string]json.RawMessage{"pay": json.RawMessage(`[]`)}}},
		{"a negative time", &audit.Options{World: w, Every: -1}},
		{"a negative number", &audit.Options{World: w, Cancellations: -1}},
		{"an example of no tool", &audit.Options{World: w, Example: map[string]json.RawMessage{"no": json.RawMessage(`{}`)}}},
	} {
		_, err := audit.Plan(t.Context(), tc.o)
		var wrong *audit.FieldError
		assert.ErrorAs(t, err, &wrong, tc.reason)
	}
}

func TestClaims(t *testing.T) {
	claims := map[string]audit.Claims{"pay": {ReadOnly: new(true), Idempotent: new(true), Destructive: new(false)}}
	for is, want := range map[string][3]audit.Standing{
		"reads":                  {audit.Confirmed, audit.Confirmed, audit.Confirmed},
		"safe":                   {audit.Contradicted, audit.Confirmed, audit.NotDecided},
		"doubles":                {audit.Contradicted, audit.Contradicted, audit.NotDecided},
		"safe-with-key":          {audit.Contradicted, audit.Contradicted, audit.NotDecided},
		"safe-with-required-key": {audit.Contradicted, audit.Confirmed, audit.NotDecided},
		"wedged-lock":            {audit.Contradicted, audit.NotDecided, audit.NotDecided},
	} {
		tool := run(t, &audit.Options{Sandbox: true, Claims: claims, NewWorld: worlds(is, nil)}).Tools[0]
		assert.Equal(t, want, [3]audit.Standing{tool.ReadOnly, tool.Idempotent, tool.Destructive}, is)
	}
	tool := run(t, &audit.Options{Sandbox: true, NewWorld: worlds("safe", nil)}).Tools[0]
	assert.Equal(t, audit.NotClaimed, tool.Idempotent)
}

// The run file has all that the result is made of.
func TestRunFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l, err := audit.Matrix(t.Context(), &audit.Options{Sandbox: true, NewWorld: worlds("doubles-at-once", nil)})
		require.NoError(t, err)
		r, err := m.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
		require.NoError(t, err)
		var file bytes.Buffer
		require.NoError(t, report.Write(&file, r, nil))
		read, err := report.Read(&file, nil)
		require.NoError(t, err)
		assert.Equal(t, audit.Judge(l, r).Tools, audit.Judge(l, read).Tools)
		assert.Equal(t, audit.Doubles, audit.Judge(l, read).Tools[0].Verdict)
	})
}

func TestSecrets(t *testing.T) {
	r := run(t, &audit.Options{Sandbox: true, NewWorld: worlds("doubles", nil), Secrets: []string{"order-of-a-vip"},
		Example: map[string]json.RawMessage{"pay": json.RawMessage(`{"order":"order-of-a-vip"}`)}})
	var file, text bytes.Buffer
	require.NoError(t, report.Write(&file, r.Report, nil))
	require.NoError(t, r.Text(&text))
	doc, err := json.Marshal(r)
	require.NoError(t, err)
	for _, out := range []string{file.String(), text.String(), string(doc), string(r.Markdown(1 << 16))} {
		assert.NotContains(t, out, "vip")
	}
}

// A secret is also hidden where the evidence is cut, at whatever byte.
func TestSecretsAtTheCut(t *testing.T) {
	const secret, most = "order-of-a-vip", 8 << 10
	for n := most - len(secret) - 20; n < most; n++ {
		text := strings.Repeat("x", n) + secret
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "t"}, func(context.Context, struct{}) (string, error) { return text, nil }))
		require.NoError(t, err)
		r := run(t, &audit.Options{Sandbox: true, Secrets: []string{secret}, World: &audit.World{Tools: tools}})
		doc, err := json.Marshal(r)
		require.NoError(t, err)
		assert.False(t, bytes.Contains(doc, []byte(secret[:4])), "after %d bytes", n)
	}
}

// Scenarios of tools whose names differ in signs alone have different names. Of two tools of one name, neither is called.
func TestNamesOfTools(t *testing.T) {
	tools := listed{{Name: "a b-2"}, {Name: "a/b"}, {Name: "a b"}, {Name: "a_b"}, {Name: "twin"}, {Name: "twin"}}
	m, l, err := audit.Matrix(t.Context(), &audit.Options{Sandbox: true, World: &audit.World{Tools: tools}})
	require.NoError(t, err)
	names := map[string]bool{}
	for _, s := range m.Scenarios {
		names[s.Name] = true
	}
	assert.Len(t, names, 4*len(l.Tools[0].Treatments))
	assert.NoError(t, m.Validate())
	for _, p := range l.Tools {
		assert.Equal(t, p.Tool == "twin", p.Refused == "another tool has its name", p.Tool)
	}
}

func TestText(t *testing.T) {
	r := run(t, &audit.Options{Sandbox: true, NewWorld: worlds("doubles-at-once", func(w *audit.World) { w.Restart = nil })})
	var out bytes.Buffer
	require.NoError(t, r.Text(&out))
	for _, want := range []string{"pay", "doubles", "not claimed", "at-once: the work is done more than once", "made from its input schema",
		"restarted: nothing restarts it", "tried"} {
		assert.Contains(t, strings.Join(strings.Fields(out.String()), " "), want)
	}
	assert.Contains(t, string(r.Markdown(1<<16)), "doubles")
}

// A run that is ended decides nothing.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := audit.Run(ctx, &audit.Options{Sandbox: true, Every: 400 * time.Millisecond, NewWorld: worlds("safe", nil)}, nil)
		assert.Error(t, err)
		if r != nil {
			assert.Equal(t, audit.Unknown, r.Tools[0].Verdict, r.Tools[0].Why)
		}
	})
}

// What a filter left out, or a redactor spoiled, is never safe.
func TestOfAPart(t *testing.T) {
	for _, tc := range []struct {
		reason string
		change func(*contract.CellReport) (drop bool)
	}{
		{"no treatment was tried", func(*contract.CellReport) bool { return true }},
		{"that without a key was left out", func(c *contract.CellReport) bool { return c.Cell.Scenario == "pay.without-key" }},
		{"the evidence is missing", func(c *contract.CellReport) bool { c.Evidence = nil; return false }},
		{"the verdict cannot be read", func(c *contract.CellReport) bool {
			c.Evidence.Response = strings.Replace(c.Evidence.Response, `"verdict":"safe"`, `"verdict":"[redacted]"`, 1)
			return false
		}},
		{"the agent did not end", func(c *contract.CellReport) bool { c.State = contract.Inconclusive; return false }},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, l, err := audit.Matrix(t.Context(), &audit.Options{Sandbox: true, NewWorld: worlds("safe-with-key", nil)})
			require.NoError(t, err)
			r, err := m.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
			require.NoError(t, err)
			require.Equal(t, audit.SafeWithKey, audit.Judge(l, r).Tools[0].Verdict)
			r.Cells = slices.DeleteFunc(r.Cells, func(c contract.CellReport) bool { return tc.change(&c) })
			for i := range r.Cells {
				tc.change(&r.Cells[i])
			}
			assert.Equal(t, audit.Unknown, audit.Judge(l, r).Tools[0].Verdict, tc.reason)
		})
	}
}

// The arguments that are made of a schema, and where the key is in them.
func TestMade(t *testing.T) {
	for _, tc := range []struct{ reason, schema, args, key string }{
		{"no schema", ``, `{}`, ""},
		{"required members alone", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`, `{"a":"example"}`, ""},
		{"usual keywords", `{"properties":{"a":{"type":"integer","minimum":5},"b":{"enum":["x","y"]},"c":{"type":"array","minItems":1,
			"items":{"type":"boolean"}},"d":{"default":{"z":1}},"e":{"const":null},"f":{"type":["number","null"]},"g":{"examples":["q"]}},
			"required":["a","b","c","d","e","f","g"]}`, `{"a":5,"b":"x","c":[false],"d":{"z":1},"e":null,"f":1,"g":"q"}`, ""},
		{"a reference", `{"$defs":{"o":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}},
			"properties":{"a":{"$ref":"#/$defs/o"}},"required":["a"]}`, `{"a":{"n":"example"}}`, ""},
		{"a schema that refers to itself ends", `{"$defs":{"a":{"$ref":"#/$defs/a"}},"properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]}`,
			`{"a":null}`, ""},
		{"a key by its name", `{"properties":{"Idempotency-Key":{"type":"string"}}}`, `{}`, "/Idempotency-Key"},
		{"what is requested may be somebody else's", `{"properties":{"request_id":{"type":"string"}}}`, `{}`, ""},
		{"references without end, many at each", `{"$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/a"},
			"c":{"$ref":"#/$defs/a"},"d":{"$ref":"#/$defs/a"}},"required":["b","c","d"]}},"$ref":"#/$defs/a"}`, ``, ""},
	} {
		tools := listed{{Name: "t", InputSchema: json.RawMessage(tc.schema)}}
		l, err := audit.Plan(t.Context(), &audit.Options{Sandbox: true, World: &audit.World{Tools: tools}})
		require.NoError(t, err)
		p := l.Tools[0]
		assert.Equal(t, tc.key, p.Key, tc.reason)
		assert.True(t, p.Made, tc.reason)
		if tc.args == "" {
			assert.Contains(t, p.Refused, "input schema", tc.reason)
			continue
		}
		assert.Empty(t, p.Refused, tc.reason)
		assert.JSONEq(t, tc.args, string(p.Args), tc.reason)
	}
}

type listed []chaos.Tool

func (l listed) Tools(context.Context) ([]chaos.Tool, error) { return l, nil }
func (listed) CallTool(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, chaos.ErrUnknownTool
}

// A state that cannot be counted shows that the second call did something.
func TestOpaqueState(t *testing.T) {
	for _, is := range []string{"safe", "doubles", "doubles-at-once", "doubles-after-restart", "partly", "wedged-lock"} {
		tool := run(t, &audit.Options{Sandbox: true, NewWorld: func(context.Context) (*audit.World, error) {
			return planted{is: is, steps: usual, shape: opaque}.world()
		}}).Tools[0]
		assert.Equal(t, semantics[is], tool.Verdict, "%s: %s", is, tool.Why)
	}
}

// A step of the work is found by a cancellation however short it is, if the state shows it; else if it takes a share of
// the call that is large enough: see Options.Cancellations.
func TestCancellations(t *testing.T) {
	for _, tc := range []struct {
		hidden        bool
		cancellations int
		want          audit.Verdict
	}{{false, 4, audit.PartlyDone}, {true, 4, audit.Safe}, {true, 40, audit.Wedged}} {
		tool := run(t, &audit.Options{Sandbox: true, Cancellations: tc.cancellations, NewWorld: func(context.Context) (*audit.World, error) {
			if tc.hidden {
				return lockedFor(3 * time.Millisecond)
			}
			return planted{is: "partly", steps: [3]time.Duration{50 * time.Millisecond, 3 * time.Millisecond, 47 * time.Millisecond}}.world()
		}}).Tools[0]
		assert.Equal(t, tc.want, tool.Verdict, "%+v: %s", tc, tool.Why)
	}
}

// A server that loads something at its start lets a call wait for it. The call that had to wait less does not say how
// long the others take: they are cancelled in the middle of the work all the same.
func TestLoadingServer(t *testing.T) {
	for is, want := range map[string]audit.Verdict{"partly": audit.PartlyDone, "safe": audit.Safe} {
		tool := run(t, &audit.Options{Sandbox: true, Settle: time.Second, NewWorld: func(context.Context) (*audit.World, error) {
			w, err := planted{is: is, steps: [3]time.Duration{100 * time.Millisecond, 100 * time.Millisecond, time.Millisecond}}.world()
			w.Tools = loading{w.Tools, time.Now().Add(500 * time.Millisecond)}
			return w, err
		}}).Tools[0]
		assert.Equal(t, want, tool.Verdict, "%s: %s", is, tool.Why)
	}
}

// loading are tools that begin to work at a time.
type loading struct {
	chaos.ToolRegistry
	until time.Time
}

func (l loading) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	select {
	case <-time.After(time.Until(l.until)):
		return l.ToolRegistry.CallTool(ctx, name, args)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lockedFor has a tool that is locked for ever if it is cancelled between 20 ms and d later. It pays after 100 ms.
func lockedFor(d time.Duration) (*audit.World, error) {
	var paid, locked atomic.Bool
	one := make(chan struct{}, 1)
	pay := func(ctx context.Context, _ struct{}) (string, error) {
		one <- struct{}{}
		defer func() { <-one }()
		if locked.Load() {
			return "", errors.New("locked")
		}
		for i, step := range []time.Duration{20 * time.Millisecond, d, 80*time.Millisecond - d} {
			select {
			case <-time.After(step):
			case <-ctx.Done():
				locked.Store(i == 1)
				return "", ctx.Err()
			}
		}
		paid.Store(true)
		return "paid", nil
	}
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "pay"}, pay))
	return &audit.World{Tools: tools, State: func(context.Context) (any, error) { return paid.Load(), nil }}, err
}
