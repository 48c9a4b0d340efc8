package suite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/suite"
)

// A shop refunds orders. Its ledger is the state of the world.
type shop struct {
	mu     sync.Mutex
	ledger []string
}

var orderNumber = regexp.MustCompile(`\d+`)

// world makes a shop with an agent that tries so often.
func world(tries int) func(context.Context) (*contract.World, error) {
	return func(context.Context) (*contract.World, error) {
		s := &shop{}
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "refund", Effect: chaos.EffectDone}, s.refund))
		if err != nil {
			return nil, err
		}
		return &contract.World{Tools: tools, State: s.state,
			Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				order := orderNumber.FindString(prompt)
				args, _ := json.Marshal(map[string]string{"order": order})
				var err error
				for range tries {
					if _, err = tools.CallTool(ctx, "refund", args); err == nil {
						return "Order " + order + " was refunded.", nil
					}
				}
				return "The refund failed: " + err.Error(), nil
			}}, nil
	}
}

func (s *shop) refund(_ context.Context, in struct {
	Order string `json:"order"`
},
) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger = append(s.ledger, in.Order)
	return map[string]string{"id": fmt.Sprintf("R-%d", len(s.ledger)), "note": "paid", "reference": "REF-88213"}, nil
}

func (s *shop) state(context.Context) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.ledger...), nil
}

func effects() map[string]func(any) []string {
	return map[string]func(any) []string{"refunds": func(state any) []string { return state.([]string) }}
}

func options() *suite.Options { return &suite.Options{Effects: effects(), OwnWorlds: true} }

// written writes a file into a folder of its own.
func written(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// loaded loads a text as a YAML file.
func loaded(t testing.TB, text string, o *suite.Options) *suite.Suite {
	t.Helper()
	s, err := suite.Load(written(t, "s.yaml", text), o)
	require.NoError(t, err)
	return s
}

// runs runs all matrices of a suite, in virtual time where worlds are fresh.
func runs(t *testing.T, s *suite.Suite,
	fresh func(context.Context) (*contract.World, error)) map[string]*contract.Report {
	t.Helper()
	reports := map[string]*contract.Report{}
	for name, m := range s.Matrices(fresh) {
		r, err := m.Run(t.Context(), inBubbles(t, m))
		require.NoError(t, err, name)
		reports[name] = r
	}
	return reports
}

// contractOf is a suite with these lines as its invariants and scenarios.
func contractOf(invariants, scenarios string) string {
	return "version: \"2.0\"\ngolden_prompts: [\"Refund order 1042\"]\ncontract:\n  name: refunds\n  invariants:\n    - " +
		strings.ReplaceAll(strings.TrimSpace(invariants), "\n", "\n    - ") + "\n  chaos_matrix:\n    - " +
		strings.ReplaceAll(strings.TrimSpace(scenarios), "\n", "\n    - ") + "\n"
}

// inBubbles are the options of a run in virtual time.
func inBubbles(t *testing.T, m *contract.Matrix) *contract.RunOptions {
	bubble := contract.Bubble(func(run func()) error {
		synctest.Test(t, func(*testing.T) { run() })
		return nil
	})
	if m.World != nil {
		bubble = nil
	}
	return &contract.RunOptions{Workers: 1, Keep: contract.KeepAll, Harness: contract.Harness{Calm: bubble,
		Around: func(_ contract.Cell, run func(contract.Bubble) *contract.CellReport) { run(bubble) }}}
}
