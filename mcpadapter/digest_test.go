package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A client that reads the verdict, wherever it stands, reads which rate was rejected or is open and
// which goal was not reached. The agent finds no order when orders.get fails, and always answers.
func TestRatesAndGoalsStandBesideTheVerdict(t *testing.T) {
	s := newShop(t)
	m := s.host.Matrices[0]
	made := m.NewWorld
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := made(ctx)
		agent := w.Agent
		w.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
			c, _ := contract.CellOf(ctx)
			text, err := agent(ctx, prompt, tools)
			return fmt.Sprintf("%s (%d)", text, c.Trial), err // other words in each trial: they are no copies
		}
		return w, err
	}
	m.Invariants[0].Severity, m.Invariants[0].AtLeast = contract.High, .9 // a High rate does not decide the verdict
	m.Invariants[1].AtLeast = .999
	m.Goals = []contract.Goal{{Name: "asked-back", Reached: func(*contract.Observation) bool { return false }}}
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	run := answer[report.Digest](t, c, "contract_run", `{"trials":20}`)
	assert.Equal(t, scoring.Inconclusive, run.Score.Verdict)

	// 20 of 20 trials accept 90 % and not 60 %, and none of 20 rejects it at once; 99.9 % and not
	// 99.6 % takes ln(0.95/0.05) ÷ ln(0.999/0.996) = 979 passes in a row.
	at := map[string]contract.Field{}
	for _, f := range run.Fields {
		at[f.Scenario+"/"+f.Invariant] = f
	}
	require.Len(t, at, 4)
	assert.Equal(t, stats.Accepted, at["calm/names-the-order"].Standing.Decision)
	assert.Equal(t, stats.Rejected, at["orders-down/names-the-order"].Standing.Decision)
	further := int(math.Ceil(math.Log(.95/.05)/math.Log(.999/.996))) - 20
	open := at["calm/answers"].Standing
	assert.Equal(t, stats.Open, open.Decision)
	assert.Equal(t, further, open.Passes)
	assert.InDelta(t, further, open.Trials, 1)
	assert.Equal(t, stats.Rejected, *run.Broken[0].Decision)

	list := answer[listOutput](t, c, "contract_list", `{}`).Matrices[0]
	shown := answer[reportOutput](t, c, "contract_report", `{}`)
	joined := answer[scoreOutput](t, c, "resilience_score", `{"renormalise":true}`)
	for name, summary := range map[string]string{"run": run.Summary, "list": list.Latest, "report": shown.Summary, "score": joined.Summary} {
		for _, want := range []string{`goal "asked-back" was reached in none of `, "orders-down / names-the-order (high): rejected: ",
			"Fields that are not accepted: ", "calm / answers (low): open: 20 of 20 held; "} {
			assert.Contains(t, summary, want, name)
		}
	}
	assert.Equal(t, run.Fields, shown.Fields)

	narrow := answer[report.Digest](t, c, "contract_run", `{"scenarios":["calm"]}`)
	assert.True(t, narrow.Filtered)
	assert.Contains(t, narrow.Summary, "Goals: not judged, because not all cells ran.")
}

// The schema that clients are given accepts a digest with a value in each member, and one whose scores
// have none.
func TestTheSchemaTakesEveryMemberOfADigest(t *testing.T) {
	third := scoring.Interval{Low: .2, High: .9, Level: .95, Clusters: 2}
	r := &contract.Report{Name: "desk", Sequential: true, Filtered: true, Cancelled: true, Saved: 3, Warnings: []string{"w"}, SharedObservations: true,
		Scenarios: []string{"down"}, Invariants: []string{"i"}, ByScenario: &stats.ClusteredShare{Value: .5, Interval: third, Clusters: 2},
		Chaos: &scoring.ChaosScore{Total: 1, NotRun: 1}, Replay: &scoring.ReplayScore{},
		Mutation: &scoring.MutationScore{Kinds: []scoring.KindScore{{Kind: "typo"}}}, Overall: &scoring.Overall{},
		Judges: []scoring.JudgeScore{{Invariant: "i", Calibration: &scoring.JudgeRates{Least: new(.5), Most: new(.5), Interval: third, Warnings: []string{"w"}}}},
		Fields: []contract.Field{{Scenario: "down", Invariant: "i", Severity: contract.Low, AtLeast: .9, Poor: .6, Held: 1, Decided: 2, Interval: third}},
		Goals:  []contract.GoalCount{{Goal: "g", Failed: "f", Scenarios: []string{"down"}}}, SearchStopped: "cut",
		Coverage: []contract.CoverCount{{Target: "a", Uncalled: true}, {Target: "b", Fault: "error", Try: 1, Delivered: 2}},
		Faults:   []contract.FaultCount{{Scenario: "down", Rule: "r"}},
		Defects: []contract.Defect{{Sentence: "s", Severity: contract.High, Rate: &third, Facts: []string{"f"},
			Deliveries: []contract.Delivery{{Rule: "r", Key: math.MaxUint64}},
			Breaks:     []contract.Break{{Invariant: "i", Severity: contract.High, Cells: []contract.Cell{{Scenario: "down", Invariant: "i", Trial: 1}}, At: []string{"b"}}}}},
	}
	r.Cells = []contract.CellReport{{Cell: contract.Cell{Scenario: "down", Invariant: "i", Trial: 1}, Severity: contract.Low, State: contract.Broken, Violated: true}}
	for _, change := range []func(){
		func() {},
		func() { r.Chaos.Value, r.Chaos.Decided, r.Chaos.Interval = 50, 2, third },
		func() { *r = contract.Report{} },
	} {
		change()
		text, err := json.Marshal(report.DigestOf(r, 0))
		require.NoError(t, err)
		var v map[string]any
		require.NoError(t, json.Unmarshal(text, &v))
		if r.Name == "" {
			v["score"].(map[string]any)["verdict"] = "pass"
		}
		require.NoError(t, outputs()["contract_run"].Validate(v), "%s", text)
	}
}
