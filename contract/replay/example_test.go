package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// A session is read and played: the agent's calls get the answers of that day, and one
// that was not recorded is a miss.
func ExampleSession_Player() {
	s, err := replay.Read([]byte(`{"format": "shakedown/session", "version": 1, "name": "refund-1042",
		"tools": [{"name": "refund", "effect": "done"}],
		"calls": [
			{"tool": "refund", "args": {"order": 1042}, "error": {"text": "i/o timeout"}, "effect": "done"},
			{"tool": "refund", "args": {"order": 1042}, "result": {"id": "R-2"}}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := s.Player(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_, err = tools.CallTool(ctx, "refund", json.RawMessage(`{"order": 1042}`))
	fmt.Println(err, errors.Is(err, context.DeadlineExceeded))
	result, err := tools.CallTool(ctx, "refund", json.RawMessage(`{"order": 1042.0}`))
	fmt.Println(string(result), err)
	fmt.Println(tools.Effects().Names())
	_, err = tools.CallTool(ctx, "refund", json.RawMessage(`{"order": 7}`))
	fmt.Println(err)
	// Output:
	// i/o timeout true
	// {"id":"R-2"} <nil>
	// [refund {"order":1042} refund {"order":1042}]
	// replay: session refund-1042 has no answer to call 3 of this run
	//   refund {"order":7}
	// nearest: call 1 of 2, 50 % alike; it differs at
	//   /order  [-1042-]{+7+}
	// PlayOptions.ByOrder answers by position, PlayOptions.Else by another registry
}

// The events of a live program become a session.
func ExampleFromEvents() {
	registry, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "look"},
		func(_ context.Context, in struct{ Order int }) (string, error) { return "paid", nil }))
	if err != nil {
		fmt.Println(err)
		return
	}
	in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	_, _ = chaos.WrapRegistry(registry, in).CallTool(context.Background(), "look", json.RawMessage(`{"order":7}`))

	s, err := replay.FromEvents(replay.Origin{ID: "request 4711"}, in.Events())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %s\n", s.Calls[0].Tool, s.Calls[0].Args, s.Calls[0].Result)
	// Output: look {"order":7} "paid"
}

// inspect makes sessions of a log of Inspect: twenty lines for a format of your own.
func inspect(log io.Reader) (sessions []*replay.Session, err error) {
	var doc struct {
		Samples []struct {
			ID     any
			Input  string
			Events []struct {
				Event, Function   string
				Arguments, Result json.RawMessage
				Error             *struct{ Message string }
			}
		}
	}
	err = json.NewDecoder(log).Decode(&doc)
	for _, sample := range doc.Samples {
		s := &replay.Session{Name: fmt.Sprint("inspect-", sample.ID), Prompts: []string{sample.Input}}
		for _, e := range sample.Events {
			if e.Event != "tool" {
				continue
			}
			c := findings.Call{Tool: e.Function, Args: e.Arguments, Result: e.Result}
			if e.Error != nil {
				c.Result, c.Error = nil, &findings.CallError{Text: e.Error.Message}
			}
			s.Calls = append(s.Calls, c)
		}
		findings.Judge(s.Calls) // what the results say of failures
		sessions = append(sessions, s)
	}
	return sessions, err
}

// A format of your own becomes a session by a function; that of the page docs/recordings.md.
func Example_yourFormat() {
	log, err := os.Open("dialect/testdata/forms/inspect-ai-eval-log.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer log.Close()
	sessions, err := inspect(log)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range sessions {
		report, err := s.Findings(nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		rules, err := s.Faults(nil)
		fmt.Println(s.Name, len(s.Calls), "calls,", *report.Verdict, "rules:", len(rules), err)
	}
	// Output:
	// inspect-1 3 calls, retried rules: 1 <nil>
}
