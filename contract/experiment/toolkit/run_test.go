package toolkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/experiment"
	"github.com/shakedown-go/shakedown/contract/experiment/toolkit"
)

// shop are the providers of testdata/full.json.
type shop struct {
	calls []string
	env   map[string]string
}

func (s *shop) note(format string, args ...any) {
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

func (s *shop) providers() *toolkit.Providers {
	type cut struct {
		Target  string `json:"target"`
		Seconds int    `json:"seconds"`
	}
	return &toolkit.Providers{
		Getenv: func(name string) (string, bool) { v, ok := s.env[name]; return v, ok },
		Funcs: map[string]toolkit.Func{
			"shop.leader": func(_ context.Context, args map[string]any) (any, error) {
				s.note("leader of %s", args["region"])
				return "db-1", nil
			},
			"shop.status": func(_ context.Context, args map[string]any) (any, error) {
				s.note("status of %s with %s", args["path"], args["token"])
				return map[string]any{"status": 200, "echo": args["token"]}, nil
			},
			"shop.cut": toolkit.Bind(func(_ context.Context, in cut) (toolkit.Started, error) {
				s.note("cut %s for %d", in.Target, in.Seconds)
				undo := func(context.Context) error { s.note("join %s", in.Target); return nil }
				return toolkit.Started{Output: map[string]any{"target": in.Target}, Undo: undo}, nil
			}),
			"shop.sold": func(_ context.Context, args map[string]any) (any, error) {
				s.note("sold without %s at %s", args["cut"], args["price"])
				return map[string]any{"items": []any{map[string]any{"region": "north"}, map[string]any{"region": "south"}}}, nil
			},
			"shop.clean": func(context.Context, map[string]any) (any, error) { s.note("clean"); return nil, nil },
		},
		Controls: map[string]experiment.Control{"shop.trace": {
			Before: func(context.Context, experiment.Moment) error { s.note("before"); return nil },
			After: func(_ context.Context, m experiment.Moment) error {
				s.note("after the %s %s", m.Level, m.Name)
				return nil
			},
		}},
	}
}

func build(t *testing.T, text string, p *toolkit.Providers) *experiment.Experiment {
	t.Helper()
	doc, err := toolkit.Read([]byte(text))
	require.NoError(t, err)
	e, err := doc.Experiment(t.Context(), p)
	require.NoError(t, err)
	return e
}

func TestADocumentRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{env: map[string]string{"TOKEN": "t0k3n", "PAUSE": "2.5"}}
		e := build(t, string(full(t)), s.providers())
		assert.Equal(t, "the shop survives the loss of its database", e.Name)
		j, err := experiment.Run(t.Context(), e, nil)
		require.NoError(t, err)
		assert.Equal(t, experiment.Completed, j.Status, j.Why)
		assert.False(t, j.Deviated)
		assert.Equal(t, 3.5, j.Duration, "pauses, one of them from the environment")
		assert.Equal(t, []string{
			"leader of north",
			"status of /orders?<all> with t0k3n",
			"cut db-1 for 3",
			"sold without db-1 at ${x}",
			"status of /orders?<all> with t0k3n",
			"status of /orders?<all> with t0k3n",
			"join db-1", "clean",
			"status of /orders?<all> with t0k3n",
			"after the experiment the shop survives the loss of its database",
		}, s.calls)
		doc, err := json.Marshal(j)
		require.NoError(t, err)
		assert.NotContains(t, string(doc), "t0k3n")
		assert.Contains(t, string(doc), `"echo":"[redacted]"`)
		assert.NotContains(t, string(doc), "admin-7", "nor is a literal of the document")
		assert.Equal(t, experiment.ContributionHigh, e.Contributions["reliability"])
	})
}

func TestValidateReportsEveryUnknownName(t *testing.T) {
	doc, err := toolkit.Read([]byte(`{
		"title": "${a}", "description": "", "configuration": {"c": 1, "p": {"type": "probe", "provider": {"type": "function", "module": "m", "func": "f"}}},
		"secrets": {"s": {"k": "v"}}, "controls": [{"name": "x", "provider": {"type": "function", "module": "gone"}}],
		"steady-state-hypothesis": {"title": "h", "probes": [{"ref": "act"}, {"ref": "nothing"}], "controls": [{"name": "x", "provider": {"type": "function", "module": "gone"}}]},
		"method": [
			{"type": "action", "name": "act", "timeout": "${b}", "pauses": {"before": "${d}", "after": "${c}"}, "configuration": ["c", "e"], "secrets": ["s", "t"],
			 "provider": {"type": "http", "url": "http://${host}/${c}/${k}", "headers": {"A": "${act:$.x} ${g}"}, "timeout": "${h}", "arguments": {"x": ["${i}", "$${j}"]}, "secrets": ["u"]}},
			{"type": "probe", "name": "look", "tolerance": {"type": "regex", "pattern": "("}, "provider": {"type": "process", "path": "p", "arguments": "say 'hi"}},
			{"type": "probe", "name": "look2", "tolerance": {"type": "regex", "pattern": "${l}"}, "provider": {"type": "function", "module": "m", "func": "g"}},
			{"type": "probe", "name": "look3", "tolerance": {"type": "probe", "provider": {"type": "function", "module": "m", "func": "h"}}, "provider": {"type": "process", "path": "p"}}
		]}`))
	require.NoError(t, err)
	wrong := doc.Validate(&toolkit.Providers{NoProcesses: true})
	assert.Equal(t, []string{
		"title", "controls[0].provider.module", "configuration.p.provider.func", "steady-state-hypothesis.controls[0].provider.module",
		"steady-state-hypothesis.probes[0].ref", "steady-state-hypothesis.probes[1].ref",
		"method[0].configuration[1]", "method[0].secrets[1]", "method[0].timeout", "method[0].pauses.before",
		"method[0].provider.secrets[0]", "method[0].provider.timeout", "method[0].provider.url", "method[0].provider.headers.A", "method[0].provider.arguments",
		"method[1].provider.arguments", "method[1].provider.type", "method[1].tolerance",
		"method[2].provider.func", "method[2].tolerance",
		"method[3].provider.type", "method[3].tolerance.provider.func",
	}, paths(t, wrong))
	_, err = doc.Experiment(t.Context(), &toolkit.Providers{NoProcesses: true})
	assert.EqualError(t, err, wrong.Error())
	assert.NotContains(t, paths(t, doc.Validate(&toolkit.Providers{ChaosToolkit: true})), "title", "Chaos Toolkit leaves unknown names as they are")
}

func TestProblemsOfLoading(t *testing.T) {
	doc, err := toolkit.Read([]byte(`{
		"title": "t", "description": "", "method": [],
		"configuration": {
			"gone": {"type": "env", "key": "GONE"}, "int": {"type": "env", "key": "WORD", "env_var_type": "int"},
			"float": {"type": "env", "key": "WORD", "env_var_type": "float"}, "bool": {"type": "env", "key": "WORD", "env_var_type": "bool"},
			"json": {"type": "env", "key": "WORD", "env_var_type": "json"},
			"fails": {"type": "probe", "provider": {"type": "function", "module": "m", "func": "fails"}},
			"hangs": {"type": "probe", "timeout": 3, "provider": {"type": "function", "module": "m", "func": "hangs"}},
			"panics": {"type": "probe", "provider": {"type": "function", "module": "m", "func": "panics"}}
		},
		"secrets": {"s": {"k": {"type": "env", "key": "GONE"}}}}`))
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		_, err := doc.Experiment(t.Context(), &toolkit.Providers{
			Getenv: func(name string) (string, bool) { return "word", name == "WORD" },
			Funcs: map[string]toolkit.Func{
				"m.fails":  func(context.Context, map[string]any) (any, error) { return nil, errors.New("boom") },
				"m.hangs":  func(ctx context.Context, _ map[string]any) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
				"m.panics": func(context.Context, map[string]any) (any, error) { panic("boom") },
			},
		})
		assert.Equal(t, []string{
			"configuration.bool", "configuration.float", "configuration.gone", "configuration.int", "configuration.json",
			"secrets.s.k", "configuration.fails", "configuration.hangs", "configuration.panics",
		}, paths(t, err))
		assert.NotContains(t, err.Error(), "word", "a value of the environment may be a secret")
	})
}

func TestValuesThatAreNoTimes(t *testing.T) {
	doc, err := toolkit.Read([]byte(`{"title": "t", "description": "", "configuration": {"word": "soon", "n": "1.5", "huge": 1e300, "neg": -1},
		"method": [{"type": "action", "name": "a", "timeout": "${n}", "pauses": {"before": "${word}", "after": "${neg}"},
		 "provider": {"type": "http", "url": "u", "timeout": "${huge}"}, "tolerance": {"type": "regex", "pattern": "(${n}"}}]}`))
	require.NoError(t, err)
	_, err = doc.Experiment(t.Context(), nil)
	assert.Equal(t, []string{"method[0].tolerance", "method[0].pauses.before", "method[0].pauses.after", "method[0].provider.timeout"}, paths(t, err))
}

// The table of tolerances, row by row.
func TestTolerancesOfTheLayout(t *testing.T) {
	answer := func(status int, body any) any {
		return map[string]any{"status": status, "headers": map[string]any{"X": "y"}, "body": body}
	}
	for _, tc := range []struct {
		tolerance string
		output    any
		holds     bool
	}{
		{`true`, true, true}, {`true`, false, false}, {`false`, false, true}, {`true`, answer(200, ""), false},
		{`"up"`, "up", true}, {`"up"`, "down", false},
		{`5`, 5, true}, {`5`, 6, false}, {`200`, answer(200, ""), true}, {`200`, answer(503, ""), false}, {`0`, map[string]any{"status": 0, "stdout": ""}, true},
		{`[200, 503]`, answer(503, ""), true}, {`[200, 503]`, answer(300, ""), false},
		{`[1, 9]`, 5, true}, {`[1, 9]`, 9, true}, {`[1, 9]`, 10, false}, {`[1, 9]`, "x", false},
		{`[1, 5, 9]`, 5, true}, {`[1, 5, 9]`, 4, false}, {`["a", "b"]`, "b", true}, {`["a", "b"]`, "c", false},
		{`{"type": "range", "range": [1, 2.5]}`, 2.5, true}, {`{"type": "range", "range": [1, 2]}`, "1.5", true},
		{`{"type": "range", "range": [1, 2]}`, "one", false}, {`{"type": "range", "range": [1, 2], "target": "body"}`, answer(200, 2), true},
		{`{"type": "regex", "pattern": "^o.*k$"}`, "ook", true}, {`{"type": "regex", "pattern": "^o.*k$"}`, "nok", false},
		{`{"type": "regex", "pattern": "fine", "target": "body"}`, answer(200, "all fine"), true},
		{`{"type": "regex", "pattern": "\"X\":\"y\"", "target": "headers"}`, answer(200, ""), true},
		{`{"type": "regex", "pattern": "done", "target": "stdout"}`, map[string]any{"status": 0, "stdout": "done\n"}, true},
		{`{"type": "regex", "pattern": "${pattern}", "target": "body"}`, answer(200, "from the configuration"), true},
		{`{"type": "jsonpath", "path": "$.items", "target": "body"}`, answer(200, `{"items": []}`), true},
		{`{"type": "jsonpath", "path": "$.items[*]", "target": "body"}`, answer(200, `{"items": []}`), false},
		{`{"type": "jsonpath", "path": "$.items[*]", "target": "body", "count": 2}`, answer(200, map[string]any{"items": []int{1, 2}}), true},
		{`{"type": "jsonpath", "path": "$.items[*]", "target": "body", "count": 1}`, answer(200, map[string]any{"items": []int{1, 2}}), false},
		{`{"type": "jsonpath", "path": "$.items[*]", "target": "body", "expect": [1, 2]}`, answer(200, map[string]any{"items": []int{1, 2}}), true},
		{`{"type": "jsonpath", "path": "$.ok", "expect": true}`, map[string]any{"ok": true}, true},
		{`{"type": "jsonpath", "path": "$[?(@.phase=='${phase}')]", "count": 1}`, []any{map[string]any{"phase": "Running"}}, true},
		{`{"type": "probe", "name": "judge", "provider": {"type": "function", "module": "m", "func": "judge", "arguments": {"least": 3}}}`, 4, true},
		{`{"type": "probe", "name": "judge", "provider": {"type": "function", "module": "m", "func": "judge", "arguments": {"least": 3}}}`, 2, false},
		{`{"type": "probe", "provider": {"type": "function", "module": "m", "func": "echo"}}`, "", false},
		{`{"type": "probe", "provider": {"type": "function", "module": "m", "func": "echo"}}`, []int{}, false},
		{`{"type": "probe", "provider": {"type": "function", "module": "m", "func": "echo"}}`, "${nothing} of it is substituted", true},
		{`{"type": "distribution", "shares": {"200": 0.9, "201": 0.1}, "within": 0.05}`, []any{answer(200, ""), answer(200, "")}, false},
		{`{"type": "distribution", "shares": {"200": 0.5, "201": 0.5}, "within": 0.05}`, []any{answer(200, ""), answer(201, "")}, true},
	} {
		providers := &toolkit.Providers{Funcs: map[string]toolkit.Func{
			"m.out": func(context.Context, map[string]any) (any, error) { return tc.output, nil },
			"m.judge": toolkit.Bind(func(_ context.Context, in struct {
				Value, Least float64
			}) (bool, error) {
				return in.Value >= in.Least, nil
			}),
			"m.echo": func(_ context.Context, args map[string]any) (any, error) { return args["value"], nil },
		}}
		e := build(t, `{"title": "t", "description": "", "configuration": {"pattern": "con.ig", "phase": "Running"}, "method": [],
			"steady-state-hypothesis": {"title": "h", "probes": [{"type": "probe", "name": "p", "tolerance": `+tc.tolerance+`,
			"provider": {"type": "function", "module": "m", "func": "out"}}]}}`, providers)
		j, err := experiment.Run(t.Context(), e, nil)
		require.NoError(t, err)
		require.NotNil(t, j.SteadyStates.Before)
		assert.Empty(t, j.SteadyStates.Before.Error, tc.tolerance)
		assert.Equal(t, tc.holds, j.SteadyStates.Before.Met, "%s of %v", tc.tolerance, tc.output)
	}
}

func TestAJudgeThatFails(t *testing.T) {
	for _, chaosToolkit := range []bool{false, true} {
		e := build(t, `{"title": "t", "description": "", "method": [], "steady-state-hypothesis": {"title": "h", "probes": [
			{"type": "probe", "name": "p", "provider": {"type": "function", "module": "m", "func": "one"},
			 "tolerance": {"type": "probe", "provider": {"type": "function", "module": "m", "func": "fails"}}}]}}`, &toolkit.Providers{
			ChaosToolkit: chaosToolkit,
			Funcs: map[string]toolkit.Func{
				"m.one":   func(context.Context, map[string]any) (any, error) { return 1, nil },
				"m.fails": func(context.Context, map[string]any) (any, error) { return nil, errors.New("boom") },
			}})
		j, err := experiment.Run(t.Context(), e, &experiment.Options{ChaosToolkit: chaosToolkit})
		require.NoError(t, err)
		assert.Equal(t, chaosToolkit, j.SteadyStates.Before.Error == "", "Chaos Toolkit takes it for a miss")
		assert.False(t, j.SteadyStates.Before.Met)
	}
}

func TestArgumentsAreBoundStrictly(t *testing.T) {
	fn := toolkit.Bind(func(_ context.Context, in struct{ Name string }) (string, error) { return in.Name, nil })
	output, err := fn(t.Context(), map[string]any{"name": "x"})
	require.NoError(t, err)
	assert.Equal(t, "x", output)
	_, err = fn(t.Context(), map[string]any{"nam": "x"})
	assert.ErrorContains(t, err, `toolkit: arguments: json: unknown field "nam"`)
	_, err = fn(t.Context(), map[string]any{"name": 1})
	assert.ErrorContains(t, err, "toolkit: arguments: ")
}

func TestOutputsThatAreNotThere(t *testing.T) {
	for arg, want := range map[string]string{
		"${later}":      "no activity of this name has an output",
		"${made:$.x}":   "the output has nothing there",
		"${made:x}":     "want $",
		"${made}":       "",
		"is ${made}":    "",
		"${made:$.a.b}": "",
	} {
		var got any
		e := build(t, `{"title": "t", "description": "", "method": [
			{"type": "action", "name": "made", "provider": {"type": "function", "module": "m", "func": "make"}},
			{"type": "action", "name": "use", "provider": {"type": "function", "module": "m", "func": "use", "arguments": {"x": "`+arg+`"}}},
			{"type": "action", "name": "later", "provider": {"type": "function", "module": "m", "func": "make"}}]}`, &toolkit.Providers{Funcs: map[string]toolkit.Func{
			"m.make": func(context.Context, map[string]any) (any, error) {
				return map[string]any{"a": map[string]int{"b": 7}}, nil
			},
			"m.use": func(_ context.Context, args map[string]any) (any, error) { got = args["x"]; return nil, nil },
		}})
		j, err := experiment.Run(t.Context(), e, nil)
		require.NoError(t, err)
		if want != "" {
			assert.Contains(t, j.Run[1].Exception, want, arg)
			continue
		}
		assert.Empty(t, j.Run[1].Exception, arg)
		text := fmt.Sprint(got)
		assert.True(t, text == "map[a:map[b:7]]" || text == `is {"a":{"b":7}}` || text == "7", text)
	}
}

func TestStrategiesOfTheDocument(t *testing.T) {
	e := build(t, `{"title": "t", "description": "", "method": [], "runtime": {"rollbacks": {"strategy": "deviated"},
		"hypothesis": {"strategy": "continuously", "frequency": 0.5, "fail_fast": true, "fail_fast_ratio": 0.25}}}`, nil)
	assert.Equal(t, experiment.Strategies{
		Rollbacks: experiment.RollbackDeviated, Hypothesis: experiment.Continuously,
		Frequency: 500 * time.Millisecond, FailFast: true, FailFastRatio: 0.25,
	}, e.Strategies)
	assert.Nil(t, build(t, `{"title": "t", "description": "", "method": [], "steady-state-hypothesis": {"title": "h"}}`, nil).Hypothesis, "no probes, no hypothesis")
}

func TestScopesOfControls(t *testing.T) {
	for scope, want := range map[string]string{"": "before after", `, "scope": "before"`: "before", `, "scope": "after"`: "after"} {
		var calls []string
		note := func(what string) func(context.Context, experiment.Moment) error {
			return func(_ context.Context, m experiment.Moment) error {
				if m.Level == experiment.LevelExperiment {
					calls = append(calls, what)
				}
				return nil
			}
		}
		e := build(t, `{"title": "t", "description": "", "method": [], "controls": [{"name": "c", "provider": {"type": "python", "module": "m"}`+scope+`}]}`,
			&toolkit.Providers{Controls: map[string]experiment.Control{"m": {Before: note("before"), After: note("after")}}})
		_, err := experiment.Run(t.Context(), e, nil)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Join(calls, " "))
	}
}
