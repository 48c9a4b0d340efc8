package behaviour

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// toy is a framework whose mistakes are known.
type toy struct {
	model http.RoundTripper
	tools chaos.ToolRegistry

	run  func(ctx context.Context, t *toy, call toyCall) (string, error) // an error of it is fatal
	send func(ctx context.Context, t *toy, body []byte) ([]byte, error)
}

type toyCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type toyMessage struct {
	Role      string    `json:"role"`
	Content   string    `json:"content"`
	ToolCalls []toyCall `json:"tool_calls,omitempty"`
	CallID    string    `json:"tool_call_id,omitempty"`
}

// told runs a tool and tells what it said, an error too.
func told(ctx context.Context, t *toy, call toyCall) (string, error) {
	result, err := t.tools.CallTool(ctx, call.Function.Name, json.RawMessage(call.Function.Arguments))
	if err != nil {
		return "error: " + err.Error(), nil
	}
	return string(result), nil
}

func post(ctx context.Context, t *toy, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://toy.example/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: t.model}).Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	return io.ReadAll(resp.Body)
}

func (t *toy) ask(ctx context.Context, question string) (string, error) {
	tools := []map[string]any{}
	for _, name := range []string{lookUp, refund, notify} {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name}})
	}
	messages := []toyMessage{{Role: "user", Content: question}}
	for range 10 {
		body, err := json.Marshal(map[string]any{"model": "toy", "messages": messages, "tools": tools})
		if err != nil {
			return "", err
		}
		answer, err := t.send(ctx, t, body)
		if err != nil {
			return "", err
		}
		var said struct {
			Choices []struct{ Message toyMessage }
		}
		if err := json.Unmarshal(answer, &said); err != nil {
			return "", err
		}
		message := said.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			return message.Content, nil
		}
		messages = append(messages, message)
		results := make([]string, len(message.ToolCalls))
		failures := make([]error, len(message.ToolCalls))
		for i, call := range message.ToolCalls {
			results[i], failures[i] = t.run(ctx, t, call)
		}
		if err := errors.Join(failures...); err != nil {
			return "", err
		}
		for i, call := range message.ToolCalls {
			messages = append(messages, toyMessage{Role: "tool", Content: results[i], CallID: call.ID})
		}
	}
	return "", errors.New("too many turns")
}

// toys are the frameworks, by what they do wrong.
var toys = map[string]toy{
	"plain":    {},
	"retrying": {run: retrying},
	"fatal": {run: func(ctx context.Context, t *toy, call toyCall) (string, error) {
		result, err := t.tools.CallTool(ctx, call.Function.Name, json.RawMessage(call.Function.Arguments))
		return string(result), err
	}},
	"swallowing": {run: func(ctx context.Context, t *toy, call toyCall) (string, error) {
		result, _ := t.tools.CallTool(ctx, call.Function.Name, json.RawMessage(call.Function.Arguments))
		return string(result), nil
	}},
	"emptying": {run: func(ctx context.Context, t *toy, call toyCall) (string, error) {
		if !json.Valid([]byte(call.Function.Arguments)) {
			call.Function.Arguments = "{}"
		}
		return told(ctx, t, call)
	}},
	"recovering": {run: func(ctx context.Context, t *toy, call toyCall) (text string, err error) {
		defer func() {
			if v := recover(); v != nil {
				text = fmt.Sprint("the tool panicked: ", v)
			}
		}()
		return told(ctx, t, call)
	}},
	"tracing": {run: func(ctx context.Context, t *toy, call toyCall) (text string, err error) {
		defer func() {
			if v := recover(); v != nil {
				text = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
		}()
		return told(ctx, t, call)
	}},
	"hasty": {run: func(ctx context.Context, t *toy, call toyCall) (string, error) {
		result := make(chan string, 1)
		go func() { text, _ := told(ctx, t, call); result <- text }()
		select {
		case text := <-result:
			return text, nil
		case <-time.After(failsAfter + time.Millisecond):
			return "", errors.New("took too long")
		}
	}},
	"aside": {run: func(ctx context.Context, t *toy, call toyCall) (text string, err error) {
		var done sync.WaitGroup
		done.Go(func() { text, err = told(ctx, t, call) })
		done.Wait()
		return text, err
	}},
	"impatient": {run: func(ctx context.Context, t *toy, call toyCall) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return told(ctx, t, call)
	}},
	"leaving": {run: func(ctx context.Context, t *toy, call toyCall) (string, error) {
		result := make(chan string) // nobody takes what comes late
		go func() { text, _ := told(ctx, t, call); result <- text }()
		select {
		case text := <-result:
			return text, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}},
	"deaf": {run: func(_ context.Context, t *toy, call toyCall) (string, error) {
		return told(context.Background(), t, call)
	}},
	"mute": {send: func(ctx context.Context, t *toy, body []byte) ([]byte, error) {
		answer, err := post(ctx, t, body)
		if err != nil {
			return []byte(`{"choices":[{"message":{}}]}`), nil
		}
		return answer, nil
	}},
	"persistent": {send: func(ctx context.Context, t *toy, body []byte) (answer []byte, err error) {
		for range 3 {
			if answer, err = post(ctx, t, body); err == nil {
				return answer, nil
			}
			time.Sleep(2 * time.Second)
		}
		return nil, err
	}},
}

func retrying(ctx context.Context, t *toy, call toyCall) (text string, err error) {
	for try := range 3 {
		time.Sleep(time.Duration(try) * time.Second)
		if text, err = told(ctx, t, call); !strings.HasPrefix(text, "error") {
			return text, err
		}
	}
	return text, err
}

func framework(name string) *Framework {
	return &Framework{Name: name, API: chaoshttp.OpenAI, Target: "POST toy.example/*",
		Ask: func(ctx context.Context, w World, question string) (string, error) {
			t := toys[name]
			t.model, t.tools = w.Model, w.Tools
			if t.run == nil {
				t.run = told
			}
			if t.send == nil {
				t.send = post
			}
			return t.ask(ctx, question)
		}}
}

// What a cell says of mistakes that are known.
func TestWords(t *testing.T) {
	for _, row := range []struct {
		toy, trial string
		want       string
		silent     bool
	}{
		{"plain", "error", "told to the model", false},
		{"plain", "panic", "**panics** in the caller's goroutine", false},
		{"plain", "time-out", "hangs until the caller's deadline, fatal", false},
		{"plain", "lost-reply", "told to the model, **refunded 2 ×**, as the model asks again", false},
		{"plain", "malformed-arguments", "told to the model", false},
		{"plain", "rate-limit-once", "not retried, fatal", false},
		{"plain", "parallel", "told to the model, the other goes on", false},
		{"retrying", "error", "`refund` retried 4 × by the framework, told to the model", false},
		{"retrying", "lost-reply", "`refund` retried 1 × by the framework, **refunded 2 ×, by the framework's retry**", true},
		{"fatal", "error", "fatal", false},
		{"fatal", "lost-reply", "fatal, **refunded although the run failed**", false},
		{"fatal", "expired-context", "fatal at once", false},
		{"fatal", "parallel", "**the other's result is lost**, fatal", true},
		{"swallowing", "error", "**the model gets an empty result**", true},
		{"emptying", "malformed-arguments", "**called with `{}` instead**, told to the model", true},
		{"recovering", "panic", "told to the model", false},
		{"tracing", "panic", "told to the model, with the stack of the program", false},
		{"hasty", "parallel", "**the other goes on after the return**, fatal", true},
		{"aside", "panic", "**kills the process**", false},
		{"impatient", "time-out", "the framework's deadline of 5s, told to the model", false},
		{"leaving", "expired-context", "fatal at once, **a goroutine left**", false},
		{"leaving", "real-time", "fatal at once, **a goroutine left**", false},
		{"deaf", "time-out", "**hangs for ever**, beyond the end of its context, `refund` still runs", false},
		{"mute", "rate-limit-once", "not retried, **silently empty**", true},
		{"persistent", "rate-limit-once", "retried 1 × (after 2s), goes on", false},
		{"persistent", "rate-limit-always", "retried 2 × (after 2s each), fatal", false},
	} {
		t.Run(row.toy+"/"+row.trial, func(t *testing.T) {
			f := framework(row.toy)
			if row.trial == "real-time" {
				f.RealTime, row.trial = "to test it", "expired-context"
			}
			for _, try := range trials(f) {
				if try.name == row.trial {
					s := f.observe(t, &try)
					require.Empty(t, s.Undelivered, s.Note)
					c := f.words(&try, &s)
					assert.Equal(t, row.want, strings.Join(c.outcome, ", "), "%v", c.facts)
					assert.Equal(t, row.silent, c.silent)
					return
				}
			}
			require.Fail(t, "there is no such trial")
		})
	}
}
