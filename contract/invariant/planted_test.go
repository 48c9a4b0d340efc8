package invariant_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/search"
)

const reply = "Order 1042 was shipped on Monday, and will be with you soon."

// chat asks the model once, and gives each part of the answer to pass as it comes. finished reports whether the model came to its end.
func chat(ctx context.Context, model http.RoundTripper, stream bool, pass func(part string)) (text string, finished bool, err error) {
	body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"Where is order 1042?"}]}`, stream)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return "", false, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := chaoshttp.NewTransport(model, nil).RoundTrip(req)
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	type said struct {
		Choices []struct {
			Message, Delta struct{ Content string }
			Reason         string `json:"finish_reason"`
		}
	}
	take := func(doc []byte) {
		var s said
		if json.Unmarshal(doc, &s) == nil && len(s.Choices) > 0 {
			part := s.Choices[0].Message.Content + s.Choices[0].Delta.Content
			text, finished = text+part, finished || s.Choices[0].Reason == "stop"
			if part != "" {
				pass(part)
			}
		}
	}
	if !stream {
		doc, err := io.ReadAll(resp.Body)
		take(doc)
		return text, finished, err
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			take(data)
		}
	}
	return text, finished, lines.Err()
}

// A way is what an agent does about an answer that did not come to its end.
type way string

const (
	passesOn  way = "passes it on"
	admits    way = "says so"
	gives     way = "fails"
	asksAgain way = "asks again, from the beginning"
	resumes   way = "asks again, and passes on what is new"
)

// talker is a world with a model and an agent of that way, which passes on the parts of answers as they come.
func talker(does way, stream bool) func(context.Context) (*contract.World, error) {
	return func(context.Context) (*contract.World, error) {
		var emitted []string
		model := modeltest.New(nil, modeltest.Script(modeltest.Answer{Text: reply}))
		answer := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			skip := 0
			pass := func(part string) {
				if skip -= len(part); skip < 0 {
					emitted = append(emitted, part[max(0, len(part)+skip):])
					skip = 0
				}
			}
			text, finished, err := chat(ctx, model, stream, pass)
			if !finished && (does == asksAgain || does == resumes) {
				if does == resumes {
					skip = len(text)
				}
				text, finished, err = chat(ctx, model, stream, pass)
			}
			switch {
			case finished || does == passesOn:
				return text, nil
			case does == admits:
				return text + " … (there was more)", nil
			}
			return "", errors.Join(err, errors.New("the answer was cut"))
		}
		return &contract.World{Agent: answer, State: func(context.Context) (any, error) { return slices.Clone(emitted), nil }}, nil
	}
}

// ticker is a world with a tool that takes five seconds and heeds its context or does not, and an agent that gives it a second.
func ticker(heeds bool, after time.Duration) func(context.Context) (*contract.World, error) {
	return func(context.Context) (*contract.World, error) {
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "slow"}, func(ctx context.Context, _ struct{}) (string, error) {
			wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if heeds {
				wait = ctx
			}
			<-wait.Done()
			return "", wait.Err()
		}), chaos.Func(chaos.Tool{Name: "note"}, func(context.Context, struct{}) (string, error) { return "noted", nil }))
		return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			own, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if after > 0 {
				time.Sleep(after)
				_, _ = tools.CallTool(own, "note", nil)
			} else {
				_, _ = tools.CallTool(own, "slow", nil)
			}
			return "done", nil
		}}, err
	}
}

// Of each two agents one breaks an invariant in virtual time, and the other one holds it.
func TestPlantedAgents(t *testing.T) {
	emitted := func(s []string) []string { return s }
	cutAt := func(f chaos.Fault) []chaos.Rule {
		return []chaos.Rule{{Target: "POST *", When: when.First(1), Fault: f}}
	}
	for _, tt := range []struct {
		name          string
		inv           contract.Invariant
		rules         []chaos.Rule
		breaks, holds func(context.Context) (*contract.World, error)
	}{
		{"cut", invariant.NoCutAnswer("i", contract.Low, nil), cutAt(chaoshttp.CutCompletion(14)), talker(passesOn, false), talker(gives, false)},
		{"cut-streamed", invariant.NoCutAnswer("i", contract.Low, nil), cutAt(chaoshttp.CutCompletion(14)), talker(passesOn, true), talker(asksAgain, true)},
		{"cut-stream", invariant.NoCutAnswer("i", contract.Low, nil), cutAt(chaoshttp.CutStream(4)), talker(passesOn, true), talker(gives, true)},
		{"twice", invariant.EmitsOnce("i", contract.Low, "POST *", emitted), cutAt(chaoshttp.CutEvent(4)), talker(asksAgain, true), talker(resumes, true)},
		{"outlives", invariant.CallsWithin("i", contract.Low, 100*time.Millisecond, "slow"), nil, ticker(false, 0), ticker(true, 0)},
		{"late", invariant.NothingAfterEnd("i", contract.Low), nil, ticker(true, 2*time.Second), ticker(true, time.Second/2)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for want, world := range map[contract.CellState]func(context.Context) (*contract.World, error){contract.Broken: tt.breaks, contract.Held: tt.holds} {
				r := contracttest.Run(t, &contract.Matrix{Name: fmt.Sprint(want), NewWorld: world, Prompts: []string{"Where is it?"}, KeepValues: true,
					Invariants: []contract.Invariant{tt.inv}, Scenarios: []contract.Scenario{{Name: "s", Rules: tt.rules}}},
					&contracttest.Options{Dir: "-", FailOn: contract.Critical, Explain: &search.Budget{}})
				assert.Equal(t, want, r.Cells[0].State, r.Cells[0].Why)
			}
		})
	}
}

// The truth is known here, since the way of the agent is: no verdict denies it, whatever is cut, where and how.
func TestCutVerdictsAreTrue(t *testing.T) {
	decided := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 14).Draw(t, "n")
		faults := map[string]chaos.Fault{"completion": chaoshttp.CutCompletion(4 * n), "filter": chaoshttp.FilterCompletion(4 * n), "stream": chaoshttp.CutStream(n),
			"event": chaoshttp.CutEvent(n), "body": chaoshttp.CutBody(int64(150 * n)), "short": chaoshttp.ShortBody(int64(150 * n)), "end": chaoshttp.DropTerminator(), "calm": fault.Delay(1)}
		stream, kept := rapid.Bool().Draw(t, "stream"), rapid.Bool().Draw(t, "kept")
		does := rapid.SampledFrom([]way{passesOn, admits, gives, asksAgain, resumes}).Draw(t, "way")
		f := faults[rapid.SampledFrom([]string{"completion", "filter", "stream", "event", "body", "short", "end", "calm"}).Draw(t, "fault")]
		plan, err := chaos.NewPlan(1, chaos.Rule{Target: "POST *", When: when.First(rapid.IntRange(1, 2).Draw(t, "times")), Fault: f})
		assert.NoError(t, err)
		in := plan.Injector("", &chaos.InjectorOptions{RecordAll: true, KeepValues: true, KeepExchanges: kept})
		world, _ := talker(does, stream)(t.Context())
		o := &contract.Observation{Before: []string{}}
		o.Response, o.Err = world.Agent(chaos.NewContext(t.Context(), in), "", nil)
		o.After, _ = world.State(t.Context())
		o.Events = in.Events()
		judge := func(what string, inv contract.Invariant, isBroken bool) {
			err := inv.Check(t.Context(), o)
			if errors.Is(err, contract.ErrUndecided) {
				decided["undecided "+what]++
				return
			}
			decided[what]++
			assert.Equal(t, isBroken, err != nil, "%s: %q, emitted %q: %v", what, o.Response, o.After, err)
		}
		took := o.Err == nil && !strings.HasPrefix(o.Response, reply) && !strings.Contains(o.Response, "there was more")
		judge("taken for whole", invariant.NoCutAnswer("i", contract.High, nil), took)
		emitted := strings.Join(o.After.([]string), "")
		first := strings.Fields(reply)[0]
		judge("passed on twice", invariant.EmitsOnce("i", contract.High, "*", func(s []string) []string { return s }), strings.Count(emitted, first) > 1)
	})
	t.Log(decided)
	assert.Greater(t, decided["taken for whole"], decided["undecided taken for whole"]/2)
	assert.Greater(t, decided["passed on twice"], decided["undecided passed on twice"]/2)
}
