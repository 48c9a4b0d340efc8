package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/replay/dialect"
)

// call is a recorded call of a tool that returned a result.
func call(tool, args, result string) findings.Call {
	c := findings.Call{Tool: tool, Result: json.RawMessage(result)}
	if args != "" {
		c.Args = json.RawMessage(args)
	}
	return c
}

func in(lane string, c findings.Call) findings.Call {
	c.Lane = lane
	return c
}

func failing(tool, args, text string) findings.Call {
	return findings.Call{Tool: tool, Args: json.RawMessage(args), Error: &findings.CallError{Text: text}}
}

func player(t *testing.T, o *replay.PlayOptions, calls ...findings.Call) *replay.Player {
	t.Helper()
	p, err := (&replay.Session{Name: "test", Calls: calls}).Player(o)
	require.NoError(t, err)
	return p
}

// ask plays one call, "tool args" in a lane, and returns its answer or its error in one text.
func ask(t *testing.T, p chaos.ToolRegistry, lane, asked string) string {
	t.Helper()
	tool, args, _ := strings.Cut(asked, " ")
	ctx := t.Context()
	if lane != "" {
		ctx = chaos.WithLane(ctx, lane)
	}
	got, err := p.CallTool(ctx, tool, json.RawMessage(args))
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return "error: " + first
	}
	return string(got)
}

func TestWhichAnswerACallGets(t *testing.T) {
	type asked struct{ lane, call, want string }
	const miss = "error: replay: session test has no answer to call "
	for _, row := range []struct {
		reason string
		o      *replay.PlayOptions
		calls  []findings.Call
		asked  []asked
	}{
		{"arguments are compared by value", nil,
			[]findings.Call{call("a", `{"x": 1, "y": "é"}`, `1`), call("a", `{"x": 2}`, `2`), call("b", `{"x": 2}`, `3`)},
			[]asked{{"", `a {"x":2.0}`, `2`}, {"", `a {"y":"\u00e9","x":1e0}`, `1`}, {"", `b {"x":2}`, `3`}}},
		{"no arguments, null and {} are one", nil,
			[]findings.Call{call("a", ``, `1`)},
			[]asked{{"", `a`, `1`}, {"", `a null`, `1`}, {"", `a {}`, `1`}}},
		{"equals in their order, then the last again", nil,
			[]findings.Call{call("a", `1`, `"x"`), failing("a", `1`, "down"), call("a", `1`, `"y"`)},
			[]asked{{"", `a 1`, `"x"`}, {"", `a 1`, "error: down"}, {"", `a 1`, `"y"`}, {"", `a 1`, `"y"`}}},
		{"each lane has its own order", nil,
			[]findings.Call{in("l", call("a", `1`, `"l1"`)), in("m", call("a", `1`, `"m1"`)), in("l", call("a", `1`, `"l2"`))},
			[]asked{{"m", `a 1`, `"m1"`}, {"l", `a 1`, `"l1"`}, {"m", `a 1`, `"m1"`}, {"l", `a 1`, `"l2"`}}},
		{"a lane that was not recorded has the order of all", nil,
			[]findings.Call{in("l", call("a", `1`, `"l1"`)), in("m", call("a", `1`, `"m1"`))},
			[]asked{{"", `a 1`, `"l1"`}, {"n", `a 1`, `"l1"`}, {"", `a 1`, `"m1"`}, {"n", `a 1`, `"m1"`}}},
		{"other arguments are a miss", nil,
			[]findings.Call{call("a", `1`, `1`)},
			[]asked{{"", `a 2`, miss + "1 of this run"}, {"l", `b 1`, miss + "2 of this run, lane l"}}},
		{"calls of models are not played", nil,
			[]findings.Call{{Type: findings.Model, Tool: "a", Args: json.RawMessage(`1`), Result: json.RawMessage(`1`)}},
			[]asked{{"", `a 1`, miss + "1 of this run"}}},
		{"neither are calls that a tool made", nil,
			[]findings.Call{call("a", `1`, `1`), {Tool: "b", Parent: 1, Result: json.RawMessage(`"inner"`)}, call("b", ``, `"own"`)},
			[]asked{{"", `b`, `"own"`}}},
		{"but those within the call of a model are the agent's", nil,
			[]findings.Call{{Type: findings.Model, Tool: "gpt"}, {Tool: "b", Parent: 1, Result: json.RawMessage(`"own"`)}},
			[]asked{{"", `b`, `"own"`}}},
		{"by order the arguments do not matter", &replay.PlayOptions{ByOrder: true},
			[]findings.Call{call("a", `1`, `"x"`), call("b", `1`, `"b"`), call("a", `2`, `"y"`)},
			[]asked{{"", `a 7`, `"x"`}, {"", `a 8`, `"y"`}, {"", `b 9`, `"b"`}}},
		{"by order the last again for a repetition alone", &replay.PlayOptions{ByOrder: true},
			[]findings.Call{call("a", `1`, `"x"`)},
			[]asked{{"", `a 7`, `"x"`}, {"", `a 7`, `"x"`}, {"", `a 8`, miss + "3 of this run"}, {"", `a 7`, `"x"`}}},
		{"by the hash of an event's key", nil,
			[]findings.Call{{Tool: "a", ArgsHash: "9d8b42c3e5e2f1a7", Result: json.RawMessage(`1`)}},
			[]asked{{"", `a {"x":1}`, miss + "1 of this run"}}},
		{"no result is none", nil, []findings.Call{{Tool: "a"}}, []asked{{"", `a`, ``}}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			p := player(t, row.o, row.calls...)
			for range 2 {
				for i, a := range row.asked {
					assert.Equal(t, a.want, ask(t, p, a.lane, a.call), "call %d: %s", i+1, a.call)
				}
				p.Rewind() // and all begins anew
				assert.NoError(t, p.Err())
			}
		})
	}
}

func TestHoles(t *testing.T) {
	noArgs := findings.Call{Tool: "a", Missing: []findings.Part{findings.Args}, Result: json.RawMessage(`1`)}
	noResult := findings.Call{Tool: "b", Missing: []findings.Part{findings.Result}}
	noEnd := findings.Call{Tool: "c", Missing: []findings.Part{findings.End}}
	noTimes := findings.Call{Tool: "d", Missing: []findings.Part{findings.End}, Result: json.RawMessage(`4`)}
	cut := findings.Call{Tool: "e", Truncated: true, Result: json.RawMessage(`"be"`)}
	hashed := findings.Call{Tool: "f", ArgsHash: "sha256:77", Result: json.RawMessage(`6`)}
	model := findings.Call{Type: findings.Model, Tool: "gpt", Missing: []findings.Part{findings.Args, findings.Result}}
	all := []findings.Call{noArgs, noResult, noEnd, noTimes, cut, hashed, model}
	s := &replay.Session{Name: "holes", Calls: all}

	const allowed = "; allowed: a call that was recorded whole (an event: with KeepValues), or PlayOptions.AllowHoles"
	_, err := s.Player(nil)
	assert.EqualError(t, err, strings.Join([]string{
		"replay: calls[0] is without its arguments" + allowed,
		"replay: calls[1] is without its result" + allowed,
		"replay: calls[2] is without its end" + allowed,
		"replay: calls[4] is truncated" + allowed,
		"replay: calls[5] is without its arguments" + allowed,
	}, "\n"))
	_, err = s.Player(&replay.PlayOptions{ByOrder: true})
	assert.EqualError(t, err, strings.Join([]string{
		"replay: calls[1] is without its result" + allowed,
		"replay: calls[2] is without its end" + allowed,
		"replay: calls[4] is truncated" + allowed,
	}, "\n"), "arguments are not needed")

	p, err := s.Player(&replay.PlayOptions{AllowHoles: true})
	require.NoError(t, err)
	for i, asked := range []string{"a", "b", "c", "d", "e", "f"} {
		got := ask(t, p, "", asked)
		assert.Equal(t, i == 3, got == "4", "%s: %s", asked, got)
	}
	var miss *replay.MissError
	_, err = p.CallTool(t.Context(), "b", nil)
	require.ErrorAs(t, err, &miss)
	assert.ErrorContains(t, miss, "which was recorded without its result")
	assert.Equal(t, 2, miss.Nearest)
	assert.ErrorContains(t, err, "nearest: call 2 of 7, which was recorded without its result")

	p, err = s.Player(&replay.PlayOptions{AllowHoles: true, ByOrder: true})
	require.NoError(t, err)
	assert.Equal(t, "1", ask(t, p, "", "a 5"))
	assert.Equal(t, "6", ask(t, p, "", "f 5"))
}

func TestElseAnswersWhatWasNotRecorded(t *testing.T) {
	live, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "refund", Effect: chaos.EffectDone}, func(context.Context, struct{}) (string, error) { return "live", nil }),
		chaos.Func(chaos.Tool{Name: "mail"}, func(context.Context, struct{}) (string, error) { return "sent", nil }))
	require.NoError(t, err)
	p := player(t, &replay.PlayOptions{Else: live}, call("refund", `{"order":1}`, `"played"`))
	assert.Equal(t, `"played"`, ask(t, p, "", `refund {"order":1}`))
	assert.Equal(t, `"live"`, ask(t, p, "", `refund {"order":2}`))
	assert.Equal(t, `"sent"`, ask(t, p, "", `mail`))
	assert.Equal(t, `error: unknown tool "fax"`, ask(t, p, "", `fax`))
	assert.NoError(t, p.Err(), "none of it is a miss")
	tools, err := p.Tools(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []chaos.Tool{{Name: "refund"}, {Name: "mail"}}, tools, "what the session says comes first")
}

func TestToolsAreThoseThatTheAgentHad(t *testing.T) {
	s := &replay.Session{Name: "a", Tools: []chaos.Tool{{Name: "b", Description: "does b"}, {Name: "c"}},
		Calls: []findings.Call{call("a", ``, `1`), {Type: findings.Model, Tool: "gpt"}, call("b", ``, `1`)}}
	p, err := s.Player(nil)
	require.NoError(t, err)
	tools, err := p.Tools(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []chaos.Tool{{Name: "b", Description: "does b"}, {Name: "c"}, {Name: "a"}}, tools)
}

func TestAMissExplainsItself(t *testing.T) {
	p := player(t, nil,
		call("orders.get", `{"order":"1042"}`, `1`),
		call("payments.refund", `{"order":"1042","quantity":1,"reason":"arrived damaged"}`, `2`))
	_, err := p.CallTool(t.Context(), "payments.refund",
		json.RawMessage(`{"order":"1042","quantity":1,"reason":"arrived broken","request_id":"ticket-1","token":"abc\u001b[31m"}`))
	want := `replay: session test has no answer to call 1 of this run
  payments.refund {"order":"1042","quantity":1,"reason":"arrived broken","request_id":"ticket-1","token":"[redacted]"}
nearest: call 2 of 2, 60 % alike; it differs at
  /reason      [-arrived damaged-]{+arrived broken+}
  /request_id  only asked: "ticket-1"
  /token       only asked: "[redacted]"
PlayOptions.ByOrder answers by position, PlayOptions.Else by another registry`
	assert.EqualError(t, err, want)
	assert.ErrorIs(t, err, contract.ErrNotTheAgent, "an agent that returns it was not tested")
	assert.ErrorIs(t, err, contract.ErrUndecided)
	_, again := p.CallTool(t.Context(), "payments.refund",
		json.RawMessage(`{"quantity":1.0,"order":"1042","reason":"arrived broken","request_id":"ticket-1","token":"abc\u001b[31m"}`))
	assert.Same(t, err, again, "explained once, however often it is repeated")
	_, err = p.CallTool(t.Context(), "orders.git", nil)
	assert.EqualError(t, err, `replay: session test has no answer to call 3 of this run
  orders.git
the tool was not called; recorded are calls of orders.get, payments.refund; did you mean orders.get?
PlayOptions.ByOrder answers by position, PlayOptions.Else by another registry`)
	assert.EqualError(t, p.Err(), want+"\n"+err.Error())
	for i := range 200 {
		_, _ = p.CallTool(t.Context(), "orders.get", json.RawMessage(fmt.Sprint(i)))
	}
	assert.ErrorContains(t, p.Err(), "\nreplay: and 102 more calls without an answer")
	assert.Equal(t, []int{1, 2}, p.Unplayed())
}

func TestAMissHasNoControlCharacters(t *testing.T) {
	p := player(t, nil, call("get\x1b[2J", ``, `1`))
	_, err := p.CallTool(chaos.WithLane(t.Context(), "a\x1b[1m"), "put\x1b[3m", json.RawMessage("\"\u009b\u202e\""))
	assert.EqualError(t, err, `replay: session test has no answer to call 1 of this run, lane a\x1b[1m
  put\x1b[3m "\u009b\u202e"
the tool was not called; recorded are calls of get\x1b[2J
PlayOptions.ByOrder answers by position, PlayOptions.Else by another registry`)
}

func TestAnEndedContextPlaysNothing(t *testing.T) {
	p := player(t, nil, call("a", ``, `1`), call("a", ``, `2`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.CallTool(ctx, "a", nil)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "1", ask(t, p, "", "a"))
	assert.Equal(t, []int{2}, p.Unplayed())
	var none context.Context // an agent may
	got, err := p.CallTool(none, "a", nil)
	require.NoError(t, err)
	assert.Equal(t, "2", string(got))
	assert.Empty(t, p.Unplayed())
}

func TestASessionThatIsNotValidIsNotPlayed(t *testing.T) {
	_, err := (&replay.Session{Calls: []findings.Call{{Tool: ""}, {Tool: "a", At: -1}}}).Player(nil)
	assert.EqualError(t, err, "replay: calls[0].tool is \"\"; allowed: the name of the tool or model\n"+
		"replay: calls[1].at is -1ns; allowed: 0 or more")
	_, err = (&replay.Session{}).Player(nil)
	assert.NoError(t, err, "a name is needed in a file alone")
}

// Importers make lanes of what overlapped. An agent that is played to has others, or none: it gets all answers all the
// same, in their order.
func TestLanesOfAnImportDoNotPartItsAnswers(t *testing.T) {
	calls := []findings.Call{call("get", `1`, `"a"`), in("2", call("get", `1`, `"b"`)), in("3", call("get", `2`, `"c"`))}
	for _, row := range []struct {
		reason, dialect string
		byOrder         bool
		want            []string
	}{
		{"imported", "otlp", false, []string{`"a"`, `"b"`, `"c"`}},
		{"imported, by order", "otlp", true, []string{`"a"`, `"b"`, `"c"`}},
		{"recorded: the lane has one of the equal calls, which is repeated", "events", false, []string{`"a"`, `"a"`, `"c"`}},
		{"of a recorder of the user's own", "mine", false, []string{`"a"`, `"a"`, `"c"`}},
	} {
		names := []string{row.dialect}
		if row.dialect == "otlp" {
			names = dialect.Names() // all that importers have
		}
		for _, name := range names {
			s := &replay.Session{Name: "lanes", Source: replay.Origin{Dialect: name}, Calls: calls}
			p, err := s.Player(&replay.PlayOptions{ByOrder: row.byOrder})
			require.NoError(t, err)
			assert.Equal(t, row.want, []string{ask(t, p, "", "get 1"), ask(t, p, "", "get 1"), ask(t, p, "", "get 2")}, row.reason+name)
		}
	}
}
