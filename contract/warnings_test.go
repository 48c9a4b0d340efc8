package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// loses runs the callee and returns an error in place of its result: it is
// delivered when the call ends.
type loses struct{}

func (loses) Phase() chaos.Phase { return chaos.PhaseAfter }
func (loses) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	_, _ = next(ctx, args)
	return nil, errDown
}

// A script says when calls begin and end, over all prompts of a cell. The calls
// are numbered as they begin.
type script struct {
	prompts []string
	steps   [][]int // by prompt: -1 begins a call, n ends call n
	lossy   []bool  // by call: its reply is lost
	endsIn  []int   // by call: the observation that has it
}

func drawScript(t *rapid.T) script {
	var s script
	var under []int
	for i := range rapid.IntRange(1, 4).Draw(t, "prompts") {
		s.prompts = append(s.prompts, strconv.Itoa(i))
		s.steps = append(s.steps, nil)
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			if len(under) == 0 || rapid.Bool().Draw(t, "begins") {
				under = append(under, len(s.lossy))
				s.lossy, s.endsIn = append(s.lossy, rapid.Bool().Draw(t, "lossy")), append(s.endsIn, -1)
				s.steps[i] = append(s.steps[i], -1)
				continue
			}
			k := rapid.IntRange(0, len(under)-1).Draw(t, "ends")
			s.endsIn[under[k]] = i
			s.steps[i] = append(s.steps[i], under[k])
			under = slices.Delete(under, k, k+1)
		}
	}
	for _, call := range under { // they end when the world is closed
		s.endsIn[call] = len(s.prompts) - 1
	}
	return s
}

// world plays the script: its calls go on under the world's context.
func (s script) world(ctx context.Context) (*contract.World, error) {
	var begun int
	release, ended := make([]chan struct{}, len(s.lossy)), make([]chan struct{}, len(s.lossy))
	started := make(chan struct{})
	var named []chaos.ToolFunc
	for _, name := range []string{"safe", "lossy"} {
		named = append(named, chaos.Func(chaos.Tool{Name: name}, func(_ context.Context, call int) (string, error) {
			started <- struct{}{}
			<-release[call]
			return "ok", nil
		}))
	}
	tools, err := chaos.NewRegistry(named...)
	end := func(call int) {
		close(release[call])
		<-ended[call]
		release[call] = nil
	}
	return &contract.World{
		Tools: tools,
		Agent: func(own context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
			i, err := strconv.Atoi(prompt)
			for _, step := range s.steps[i] {
				if step >= 0 {
					end(step)
					continue
				}
				call := begun
				begun++
				release[call], ended[call] = make(chan struct{}), make(chan struct{})
				go func() {
					defer close(ended[call])
					in := chaos.NewContext(ctx, chaos.FromContext(own)) // it outlives the prompt
					_, _ = tools.CallTool(in, map[bool]string{true: "lossy", false: "safe"}[s.lossy[call]], json.RawMessage(strconv.Itoa(call)))
				}()
				<-started
			}
			return "done", err
		},
		Close: func() error {
			for call := range begun {
				if release[call] != nil {
					end(call)
				}
			}
			return nil
		},
	}, err
}

// TestEveryCallIsInOneObservation: in that of the prompt in which it ended, or
// in the last, however calls and prompts overlap; and what is delivered is
// counted once.
func TestEveryCallIsInOneObservation(t *testing.T) {
	for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				s := drawScript(rt)
				var mu sync.Mutex
				got := make([][]int, len(s.prompts)) // calls by observation
				m := matrix(t, nil, func(m *contract.Matrix) {
					m.NewWorld, m.Prompts = s.world, s.prompts
					m.Scenarios = []contract.Scenario{{Name: "lossy", AllowUndelivered: true, Rules: []chaos.Rule{{Name: "lose", Target: "lossy", Fault: loses{}}}}}
					m.Invariants[0].Needs = contract.NeedResults
					m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
						mu.Lock()
						defer mu.Unlock()
						i, err := strconv.Atoi(o.Prompt)
						for _, e := range o.Events {
							call, _ := strconv.Atoi(string(e.Args))
							got[i] = append(got[i], call)
						}
						return err
					}
				})
				r := run(t, m, o)

				want, lost := make([][]int, len(s.prompts)), 0
				for call, i := range s.endsIn {
					want[i] = append(want[i], call) // in the order in which they began
					if s.lossy[call] {
						lost++
					}
				}
				assert.Equal(rt, want, got)
				assert.Equal(rt, lost, r.Cells[0].Delivered)
				assert.Equal(rt, lost, r.Faults[0].Delivered)
				assert.Equal(rt, lost > 0, r.Cells[0].State == contract.Held, "else it is undelivered")
			})
		})
	}
}

// TestCallsThatDoNotFitTheLog: what a full log dropped is counted at the prompt
// that dropped it, also where calls overlap.
func TestCallsThatDoNotFitTheLog(t *testing.T) {
	const kept = 4096
	calls := map[string]int{"few": 10, "many": kept + 7, "some": 20}
	dropped, events := map[string]int{}, map[string]int{}
	m := matrix(t, func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		for range calls[prompt] {
			if _, err := tools.CallTool(ctx, "clock", nil); err != nil {
				return "", err
			}
		}
		return "", nil
	}, func(m *contract.Matrix) {
		m.Prompts = []string{"few", "many", "some"}
		m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
			dropped[o.Prompt], events[o.Prompt] = o.Dropped, len(o.Events)
			return nil
		}
	})
	r := run(t, m, nil)
	assert.Equal(t, map[string]int{"few": 0, "many": 7, "some": 0}, dropped)
	assert.Equal(t, map[string]int{"few": 10, "many": kept, "some": 20}, events)
	assert.Equal(t, 10+kept+7+20-kept, r.Dropped, "of the whole cell: the oldest")

	m.ShareObservations, m.Invariants = true, append(m.Invariants, holds("other", contract.Low))
	assert.Equal(t, 10+7+20, run(t, m, nil).Dropped, "two invariants judge one run")
}

// TestBodiesThatAreReadInTheNextPrompt: a call over HTTP ends when its body
// does, so a fault in the body is delivered in the prompt that reads it.
func TestBodiesThatAreReadInTheNextPrompt(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("parcel ", 100)) })
	seen := map[string][]bool{} // whether each call was delivered, by prompt
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.Prompts, m.Points = []string{"ask", "read"}, []string{"GET depot.test/parcels"}
		m.Scenarios = []contract.Scenario{{Name: "cut", Rules: []chaos.Rule{{Target: "GET depot.test/*", Fault: chaoshttp.CutBody(10)}}}}
		m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
			for _, e := range o.Events {
				seen[o.Prompt] = append(seen[o.Prompt], e.Delivered)
			}
			return nil
		}
		m.NewWorld = func(world context.Context) (*contract.World, error) {
			client := &http.Client{Transport: chaoshttp.NewTransport(chaoshttp.InProcess(server), nil)}
			var body io.ReadCloser
			return &contract.World{Agent: func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
				if prompt == "read" {
					_, err := io.ReadAll(body)
					assert.Error(t, err)
					return "", body.Close()
				}
				request, err := http.NewRequestWithContext(chaos.NewContext(world, chaos.FromContext(ctx)), http.MethodGet, "http://depot.test/parcels", nil)
				require.NoError(t, err)
				response, err := client.Do(request)
				if err == nil {
					body = response.Body
				}
				return "", err
			}}, nil
		}
	})
	c := run(t, m, nil).Cells[0]
	assert.Equal(t, map[string][]bool{"read": {true}}, seen)
	assert.Equal(t, contract.Held, c.State)
	assert.Equal(t, 1, c.Delivered)
}

// TestPointsAreLearned: a point that some run called needs no declaration. A target
// that is the name of nothing is a warning, with StrictPoints an error.
func TestPointsAreLearned(t *testing.T) {
	nothing := func(context.Context, int) (int, error) { return 0, nil }
	ledger, backup := chaos.Wrap("ledger", nothing), chaos.Wrap("backup", nothing)
	model := chaos.WrapWith("POST api.test/v1/messages#small", nothing, &chaos.WrapOptions[int]{Alias: "POST api.test/v1/messages"})
	agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		if tools != nil {
			_, _ = tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
		}
		if _, err := ledger(ctx, 1); err != nil {
			_, _ = backup(ctx, 1)
		}
		_, _ = model(ctx, 1)
		return "done", nil
	}
	const unmet = `Rule r of scenario s: the target %q matches no tool, no declared point and no point that any run called`
	warning := func(target, nearest string) []string {
		text := strings.Replace(unmet, "%q", `"`+target+`"`, 1)
		if nearest != "" {
			text += `; the nearest name is "` + nearest + `"`
		}
		return []string{text + "."}
	}
	for _, tc := range []struct {
		why    string
		target string
		when   chaos.When
		change func(*contract.Matrix)
		want   []string
		strict bool // an error with StrictPoints
	}{
		{"a tool", "clock", nil, nil, nil, false},
		{"a wrapped function that the calm run called", "ledger", nil, nil, nil, true},
		{"the same, with a rule that matches none of its calls", "ledger", when.Args("never", func(any) bool { return false }), nil, nil, true},
		{"a point by its other name", "POST api.test/v1/messages", when.Args("never", func(any) bool { return false }), nil, nil, true},
		{"a misspelt tool", "clcok", nil, nil, warning("clcok", "clock"), true},
		{"a misspelt point", "legder", nil, nil, warning("legder", "ledger"), true},
		{"a glob of nothing", "payments.*", nil, nil, warning("payments.*", ""), true},
		{"a declared point that nobody called", "queue", nil, func(m *contract.Matrix) { m.Points = []string{"queue"} }, nil, false},
		{"a fallback, reached only under faults", "backup", when.Nth(1), func(m *contract.Matrix) {
			m.Scenarios[1].Rules = append(m.Scenarios[1].Rules, down("first", "ledger", nil))
		}, nil, true},
		{"a misspelt tool, and no calm run", "clcok", nil, func(m *contract.Matrix) { m.Scenarios = m.Scenarios[1:] }, warning("clcok", "clock"), true},
	} {
		for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
			m := ruleMatrix(t, agent, down("r", tc.target, tc.when))
			if tc.change != nil {
				tc.change(m)
			}
			assert.Equal(t, tc.want, run(t, m, o).Warnings, "%s in %s", tc.why, name)
			m.StrictPoints = true
			_, err := m.Run(t.Context(), o)
			assert.Equal(t, tc.strict, err != nil, "%s, strict: %v", tc.why, err)
		}
	}
}

// TestTheNearestNameIsOfTheRulesOwnWorlds: it is a tool, a declared point or a point that a run
// called, however many tools there are.
func TestTheNearestNameIsOfTheRulesOwnWorlds(t *testing.T) {
	ledger := chaos.Wrap("ledger", func(context.Context, int) (int, error) { return 0, nil })
	agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		_, err := ledger(ctx, 1)
		return "done", err
	}
	world := func(names ...string) func(context.Context) (*contract.World, error) {
		var all []chaos.ToolFunc
		for _, name := range names {
			all = append(all, chaos.Func(chaos.Tool{Name: name}, func(context.Context, int) (int, error) { return 0, nil }))
		}
		tools, err := chaos.NewRegistry(all...)
		return func(context.Context) (*contract.World, error) {
			return &contract.World{Tools: tools, Agent: agent}, err
		}
	}
	m := ruleMatrix(t, agent, down("r", "inviuces", nil), down("q", "clcok", nil))
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("tool-%03d", i))
	}
	other := contract.Under("other", down("r", "inviuces", nil), down("q", "clcok", nil), down("p", "legder", nil))
	other.NewWorld = world(append(many, "invoices")...)
	m.Scenarios = append(m.Scenarios, other)
	var said []string
	for _, w := range run(t, m, nil).Warnings {
		_, nearest, _ := strings.Cut(w, "any run called")
		said = append(said, strings.Fields(w)[1]+" of "+strings.Fields(w)[4]+nearest)
	}
	assert.Equal(t, []string{`r of s:.`, `q of s:; the nearest name is "clock".`, `r of other:; the nearest name is "invoices".`,
		`q of other:.`, `p of other:; the nearest name is "ledger".`}, said)
}

// TestPointsOfHTTPNeedNoRegistry and no declaration: the name of a request is no
// tool's. Its faults are those of a model where it asks one.
func TestPointsOfHTTPNeedNoRegistry(t *testing.T) {
	client := chaoshttp.WrapClient(&http.Client{Transport: chaoshttp.InProcess(http.NotFoundHandler())})
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld = func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api.test/v1/messages", strings.NewReader(`{"model":"m"}`))
				if err != nil {
					return "", err
				}
				resp, err := client.Do(r)
				if err != nil {
					return "", err
				}
				return resp.Status, resp.Body.Close()
			}}, nil
		}
		m.Scenarios = append(m.Scenarios, contract.Under("down", chaos.Rule{Target: "POST api.test/v1/messages", Fault: fails{}}),
			contract.Under("other", chaos.Rule{Target: "GET api.test/*", Fault: fails{}}))
		m.Scenarios[2].AllowUndelivered = true
		m.Invariants[0].JudgesErrors, m.Invariants[0].Applies = true, contract.LLMFaults
	})
	r := run(t, m, nil)
	require.Len(t, r.Cells, 1, "the second is no call of a model")
	assert.Equal(t, 1, r.Cells[0].Delivered)
	m.Scenarios = append(m.Scenarios, contract.Under("tool", chaos.Rule{Target: "refund", Fault: fails{}}))
	_, err := m.Run(t.Context(), nil)
	assert.ErrorContains(t, err, `Scenarios[3].Rules: chaos: rule "refund:contract_test.fails"`, "a tool's faults need tools")
	assert.NotContains(t, err.Error(), "GET api.test")
}

// TestUnderCopiesItsRules: a caller that changes its list later changes no scenario.
func TestUnderCopiesItsRules(t *testing.T) {
	rules := []chaos.Rule{{Target: "a"}, {Target: "b"}}
	s := contract.Under("down", rules...)
	rules[0].Target = "c"
	assert.Equal(t, contract.Scenario{Name: "down", Rules: []chaos.Rule{{Target: "a"}, {Target: "b"}}}, s)
	assert.Equal(t, contract.Calm(), contract.Under("calm"))
}

// clockAndBell is a registry of two tools.
func clockAndBell(t testing.TB) chaos.ToolRegistry {
	t.Helper()
	noon := func(context.Context, struct{}) (string, error) { return "noon", nil }
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, noon), chaos.Func(chaos.Tool{Name: "bell"}, noon))
	require.NoError(t, err)
	return tools
}

func down(name, target string, w chaos.When) chaos.Rule {
	return chaos.Rule{Name: name, Target: target, When: w, Fault: fault.Fail(fault.ErrUnavailable)}
}

// ruleMatrix has one scenario with the rules, after a calm one.
func ruleMatrix(t testing.TB, agent contract.Agent, rules ...chaos.Rule) *contract.Matrix {
	return matrix(t, agent, func(m *contract.Matrix) {
		tools := clockAndBell(t)
		m.NewWorld = func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: agent, Tools: tools}, nil
		}
		m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "s", Rules: rules})
	})
}

// TestWarningsAboutRules: what package lint finds in the rules of a scenario.
func TestWarningsAboutRules(t *testing.T) {
	agent := func(context.Context, string, chaos.ToolRegistry) (string, error) { return "done", nil }
	m := ruleMatrix(t, agent, chaos.Rule{Name: "known", Target: "clock", Fault: fault.Fail(errors.New("Injected fault"))})
	assert.Equal(t, []string{
		`Rule known of scenario s: the text "Injected fault" contains "Injected", by which a model may know that this is a test.`},
		run(t, m, nil).Warnings)
}

// An agent that does not work keeps what speaks of effects alone: the report says that it failed where nothing was broken.
func TestAnAgentThatFailsWithoutFaultsIsNamed(t *testing.T) {
	failing := func(failures int) contract.Agent {
		var asked atomic.Int64
		return func(context.Context, string, chaos.ToolRegistry) (string, error) {
			if int(asked.Add(1)) <= failures {
				return "", errors.New("404 Not Found for token-of-the-desk")
			}
			return "12:00", nil
		}
	}
	flaky := contract.Scenario{Name: "flaky", AllowUndelivered: true,
		Rules: []chaos.Rule{{Target: "clock", Fault: fails{}}}}
	for _, tc := range []struct {
		reason    string
		failures  int
		scenarios []contract.Scenario
		warned    bool
	}{
		{"every run without faults failed", 3, []contract.Scenario{contract.Calm()}, true},
		{"one of them was answered", 2, []contract.Scenario{contract.Calm()}, false},
		{"under faults an agent may fail", 3, []contract.Scenario{flaky}, false},
		{"each scenario is a question of its own", 3, []contract.Scenario{contract.Calm(), flaky}, true},
	} {
		m := matrix(t, failing(tc.failures), func(m *contract.Matrix) {
			m.Trials, m.Scenarios, m.Invariants[0].JudgesErrors = 3, tc.scenarios, true
			m.Secrets = []string{"token-of-the-desk"}
		})
		r := run(t, m, &contract.RunOptions{Workers: 1})
		said := strings.Join(r.Warnings, "\n")
		assert.Equal(t, tc.warned, strings.Contains(said, "The agent answered with an error in every run of scenario calm"), "%s: %s", tc.reason, said)
		if tc.warned {
			assert.Contains(t, said, "First in calm/held/1: 404 Not Found", tc.reason)
			assert.NotContains(t, said, "token-of-the-desk", tc.reason)
		}
	}
}
