package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
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
