package cassette_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/report"
)

// provider is a model that asks for the order and words what it is told, each time otherwise: what a replay says
// can only come from the tape.
func provider() (model http.Handler, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	return modeltest.New(nil, func(_ context.Context, r modeltest.Request) (modeltest.Answer, error) {
		n := calls.Add(1)
		if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
			return modeltest.Answer{Text: fmt.Sprintf("Answer %d: %s", n, last.Text)}, nil
		}
		return modeltest.Answer{Calls: []modeltest.Call{{Name: "status", Args: `{"order":"1042"}`}}}, nil
	}), calls
}

type said struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// ask asks the model once, in one piece or as a stream.
func ask(ctx context.Context, client *http.Client, messages []any, stream bool) (*said, error) {
	doc, err := json.Marshal(map[string]any{"model": "gpt-5.2", "stream": stream, "messages": messages, "tools": []any{
		map[string]any{"type": "function", "function": map[string]any{"name": "status", "parameters": map[string]any{"type": "object"}}}}})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, api+"/chat/completions", bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		all, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, all)
	}
	if stream {
		return readStream(resp.Body)
	}
	var answer struct{ Choices []struct{ Message said } }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	return &answer.Choices[0].Message, nil
}

// readStream puts the pieces of a streamed answer together, and stops at its last event as clients do.
func readStream(body io.Reader) (*said, error) {
	m := &said{Role: "assistant"}
	for lines := bufio.NewScanner(body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if data == "[DONE]" {
			return m, nil
		}
		if !ok {
			continue
		}
		var piece struct {
			Choices []struct {
				Delta struct {
					Content string
					Calls   []struct {
						call
						Index int
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &piece); err != nil {
			return nil, err
		}
		for _, c := range piece.Choices {
			m.Content += c.Delta.Content
			for _, part := range c.Delta.Calls {
				if part.Index == len(m.Calls) {
					m.Calls = append(m.Calls, call{Type: "function"})
				}
				to := &m.Calls[part.Index]
				to.ID += part.ID
				to.Function.Name += part.Function.Name
				to.Function.Arguments += part.Function.Arguments
			}
		}
	}
	return nil, errors.New("the stream has no end")
}

// agent is one that tries again: a call of the model up to three times.
func agent(client *http.Client, stream bool) contract.Agent {
	return func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		messages := []any{map[string]any{"role": "user", "content": prompt}}
		var last error
		for failures := 0; failures < 3; {
			m, err := ask(ctx, client, messages, stream)
			if err != nil {
				failures, last = failures+1, err
				time.Sleep(time.Second)
				continue
			}
			if len(m.Calls) == 0 {
				return m.Content, nil
			}
			messages = append(messages, m)
			for _, c := range m.Calls {
				result, err := tools.CallTool(ctx, c.Function.Name, json.RawMessage(c.Function.Arguments))
				if err != nil {
					result, _ = json.Marshal("error: " + err.Error())
				}
				messages = append(messages, map[string]any{"role": "tool", "tool_call_id": c.ID, "content": string(result)})
			}
		}
		return "", fmt.Errorf("no answer: %w", last)
	}
}

// desk is a matrix over a tape: faults of the tool and of the model's transport, which stands in front of the player.
func desk(tape *cassette.Cassette, stream bool) *contract.Matrix {
	type order struct {
		Order string `json:"order"`
	}
	const model = "*#gpt-5.2"
	return &contract.Matrix{
		Seed: 1,
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "status"}, func(_ context.Context, in order) (string, error) {
				return in.Order + " was shipped", nil
			}))
			player := tape.Player()
			client := &http.Client{Transport: chaoshttp.NewTransport(player, nil), Timeout: time.Minute}
			return &contract.World{Agent: agent(client, stream), Tools: tools, Err: player.Err}, err
		},
		Prompts: []string{"Where is order 1042?", "And tomorrow?"},
		Invariants: []contract.Invariant{
			invariant.Contains("names-the-order", contract.High, "1042"),
			invariant.Contains("says-shipped", contract.Low, "shipped"),
			invariant.Contains("answers", contract.Low, "Answer"),
		},
		Trials: 2,
		Scenarios: []contract.Scenario{
			contract.Calm(),
			contract.Under("tool-down", chaos.Rule{Target: "status", Fault: fault.Fail(errors.New("the desk is closed"))}),
			contract.Under("tool-slow", chaos.Rule{Target: "status", When: when.First(1), Fault: fault.Delay(time.Hour)}),
			contract.Under("reply-lost", chaos.Rule{Target: model, When: when.First(1), Fault: fault.LoseReply()}),
			contract.Under("model-down", chaos.Rule{Target: model, When: when.First(2), Fault: chaoshttp.Status(503, nil)}),
			contract.Under("asked-twice", chaos.Rule{Target: model, When: when.First(1), Fault: fault.Duplicate()}),
		},
	}
}

func run(t *testing.T, tape *cassette.Cassette, stream bool, workers int) (*contract.Report, string) {
	t.Helper()
	r, err := desk(tape, stream).Run(t.Context(), virtual(t, workers))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, r, nil))
	return r, b.String()
}

// A whole matrix, recorded with auto and in a bubble each cell, replays without a miss and without the network, and
// every replay gives the same bytes as the recording.
func TestARecordedMatrixReplays(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, workers := range []int{1, 64} {
			t.Run(fmt.Sprintf("stream=%t/workers=%d", stream, workers), func(t *testing.T) {
				path := tapePath(t)
				model, calls := provider()
				tape := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: serve(t, model)})
				_, live := run(t, tape, stream, workers)
				require.NoError(t, tape.Close())
				made := calls.Load()
				require.NotZero(t, made)
				text := readFile(t, path)

				for _, again := range []int{1, 64} {
					tape := open(t, path, &cassette.Options{Mode: cassette.Replay})
					r, played := run(t, tape, stream, again)
					for _, c := range r.Cells {
						assert.NotEqual(t, contract.Inconclusive, c.State, "%v: %s", c.Cell, c.Why)
					}
					assert.Equal(t, live, played)
				}
				assert.Equal(t, made, calls.Load())

				tape = open(t, path, &cassette.Options{Mode: cassette.Auto})
				_, played := run(t, tape, stream, 2)
				assert.Equal(t, live, played, "auto makes no live call for what is on the tape")
				require.NoError(t, tape.Close())
				assert.Equal(t, text, readFile(t, path), "nothing was recorded, so the file stays")
			})
		}
	}
}

// All invariants of a cell share one live call, and so do equal requests of other cells.
func TestOneLiveCallARequest(t *testing.T) {
	model, calls := provider()
	tape := open(t, tapePath(t), &cassette.Options{Mode: cassette.Record, Base: serve(t, model)})
	m := desk(tape, false)
	m.Scenarios, m.Prompts, m.Trials = m.Scenarios[:1], m.Prompts[:1], 1
	_, err := m.Run(t.Context(), virtual(t, 64))
	require.NoError(t, err)
	require.NoError(t, tape.Close())
	assert.EqualValues(t, 2, calls.Load(), "two requests in the one cell, whatever the number of its invariants")
}

// A tape of calm runs lacks the conversations that faults lead to: those cells are inconclusive, auto records them
// once, and record replaces the cells that ran.
func TestFaultsOverATapeOfCalmRuns(t *testing.T) {
	path := tapePath(t)
	model, calls := provider()
	base := serve(t, model)
	scenarios := func(m *contract.Matrix, names ...string) *contract.Matrix {
		var some []contract.Scenario
		for _, s := range m.Scenarios {
			for _, name := range names {
				if s.Name == name {
					some = append(some, s)
				}
			}
		}
		m.Scenarios, m.Trials = some, 1
		return m
	}
	states := func(mode cassette.Mode, names ...string) (cells []string) {
		tape := open(t, path, &cassette.Options{Mode: mode, Base: base})
		r, err := scenarios(desk(tape, false), names...).Run(t.Context(), virtual(t, 4))
		require.NoError(t, err)
		require.NoError(t, tape.Close())
		for _, c := range r.Cells[:] {
			if c.Cell.Invariant == "answers" {
				cells = append(cells, fmt.Sprint(c.Cell.Scenario, " ", c.State))
			}
		}
		return cells
	}
	assert.Equal(t, []string{"calm held"}, states(cassette.Auto, "calm"))
	calm := calls.Load()
	assert.Equal(t, []string{"calm held", "tool-down inconclusive", "reply-lost held"},
		states(cassette.Replay, "calm", "tool-down", "reply-lost"), "a lost reply changes nothing of what is asked")
	assert.Equal(t, calm, calls.Load())
	assert.Equal(t, []string{"calm held", "tool-down held"}, states(cassette.Auto, "calm", "tool-down"))
	assert.Equal(t, calm+2, calls.Load(), "an answer to the news of each prompt")
	assert.Equal(t, []string{"tool-down held"}, states(cassette.Replay, "tool-down"))

	before := readFile(t, path)
	assert.Equal(t, []string{"tool-down held"}, states(cassette.Record, "tool-down"))
	assert.NotEqual(t, before, readFile(t, path))
	assert.Equal(t, []string{"calm held", "tool-down held"}, states(cassette.Replay, "calm", "tool-down"), "calm kept its exchanges")
}

// An answer whose body nobody closes leaves a goroutine behind, if the client has a time-out: net/http waits in it for
// the end of the body or of the time.
func TestBodiesMustBeClosed(t *testing.T) {
	tape := open(t, tapeOf(t, exchange("", `{}`, "one")), &cassette.Options{Mode: cassette.Replay})
	for _, closes := range []bool{true, false} {
		m := &contract.Matrix{
			NewWorld: func(context.Context) (*contract.World, error) {
				player := tape.Player()
				return &contract.World{Err: player.Err, Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
					client := &http.Client{Transport: player, Timeout: time.Hour}
					resp, err := client.Post(api+"/chat", "", strings.NewReader(`{}`))
					if err == nil && closes {
						resp.Body.Close()
					}
					return "done", err
				}}, nil
			},
			Prompts:    []string{"go"},
			Invariants: []contract.Invariant{invariant.Contains("done", contract.Low, "done")},
			Scenarios:  []contract.Scenario{contract.Calm()},
		}
		r, err := m.Run(t.Context(), virtual(t, 1))
		require.NoError(t, err)
		if closes {
			assert.Equal(t, contract.Held, r.Cells[0].State)
		} else {
			assert.ErrorContains(t, errors.New(r.Cells[0].Why), "left goroutines behind: net/http.setRequestCancel")
		}
	}
}
