package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

func TestContractsAreListedRunAndReported(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	list := answer[listOutput](t, c, "contract_list", `{}`)
	require.Len(t, list.Matrices, 1)
	assert.Equal(t, 4, list.Matrices[0].Cells)
	assert.Equal(t, "42", list.Matrices[0].Seed)
	assert.Equal(t, []contract.OutlineRule{{Name: "down", Target: "orders.*", Fault: "error"}}, list.Matrices[0].Scenarios[1].Rules)
	assert.Equal(t, "nothing_recorded", refusal(t, c, "contract_report", `{}`).Code, "before the first run")

	run := answer[report.Digest](t, c, "contract_run", `{}`)
	assert.Equal(t, scoring.Fail, run.Score.Verdict, "a critical invariant broke")
	assert.Equal(t, 3, run.Score.Passed)
	assert.Equal(t, 4, run.Score.Decided)
	require.Len(t, run.Broken, 1)
	assert.Equal(t, "orders-down/names-the-order/1", run.Broken[0].Cell)

	rep := answer[reportOutput](t, c, "contract_report", `{"cells":true,"states":["broken"],"evidence":true}`)
	require.Len(t, rep.Cells, 1)
	e := rep.Cells[0].Evidence
	require.NotNil(t, e)
	assert.Equal(t, "I could not find your order.", e.Response)
	assert.Equal(t, "down", e.Faults[0].Rule)
	assert.Equal(t, "fail", answer[listOutput](t, c, "contract_list", `{}`).Matrices[0].Verdict)
}

// The rerun line is a call; it runs that cell and no other, and finds the same.
func TestTheRerunLineRepeatsACell(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	run := answer[report.Digest](t, c, "contract_run", `{"trials":3,"seed":"18446744073709551615"}`)
	require.Len(t, run.Broken, 3)
	tool, args, _ := strings.Cut(run.Broken[1].Rerun, " ")
	assert.Equal(t, `{"matrix":"desk","scenarios":["orders-down"],"invariants":["names-the-order"],"trial":2,"trials":3,"seed":"18446744073709551615"}`, args)
	again := answer[report.Digest](t, c, tool, args)
	require.Len(t, again.Broken, 1)
	assert.Equal(t, run.Broken[1], again.Broken[0])
	assert.Equal(t, 1, again.Score.Decided)
	assert.Equal(t, 11, again.Score.NotRun)
}

func TestContractRunIsNarrowed(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	run := answer[report.Digest](t, c, "contract_run", `{"scenarios":["calm"],"invariants":["answers"]}`)
	assert.Equal(t, 1, run.Score.Decided)
	assert.Equal(t, scoring.Inconclusive, run.Score.Verdict, "the rest may break")
	assert.Contains(t, run.Summary, "PARTIAL: nothing broke in 1 of ")
	assert.Empty(t, run.Undelivered, "rules of scenarios that were left out are not missed")

	p := refusal(t, c, "contract_run", `{"scenarios":["clam","x"]}`)
	assert.Contains(t, p.Detail, `scenarios[0] is "clam"; allowed: calm, orders-down; did you mean calm?`)
	assert.Contains(t, p.Detail, `scenarios[1] is "x"`)
	p = refusal(t, c, "contract_run", `{"trial":2}`)
	assert.Contains(t, p.Detail, "trial is 2; allowed: 1 to 1")
	p = refusal(t, c, "contract_run", `{"matrix":"desk top"}`)
	assert.Contains(t, p.Detail, `unknown matrix "desk top"; known: desk`)
	p = refusal(t, c, "contract_run", `{"seed":"1e3"}`)
	assert.Contains(t, p.Detail, `seed is "1e3"; allowed: a decimal number`)
}

func TestAReportIsPaged(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	answer[report.Digest](t, c, "contract_run", `{"trials":5}`)
	var cells []string
	for args := `{"cells":true,"limit":7}`; args != ""; {
		page := answer[reportOutput](t, c, "contract_report", args)
		assert.Equal(t, 20, *page.Matching)
		for _, cell := range page.Cells {
			cells = append(cells, contract.Cell{Scenario: cell.Scenario, Invariant: cell.Invariant, Trial: cell.Trial}.String())
		}
		args = ""
		if page.NextOffset != nil {
			doc, err := json.Marshal(map[string]any{"cells": true, "limit": 7, "offset": *page.NextOffset})
			require.NoError(t, err)
			args = string(doc)
		}
	}
	m := deskMatrix()
	m.Trials = 5
	var want []string
	for _, cell := range m.Cells() {
		want = append(want, cell.String())
	}
	assert.Equal(t, want, cells, "each cell once, in the order of the matrix")
	beyond := answer[reportOutput](t, c, "contract_report", `{"cells":true,"offset":50}`)
	assert.Empty(t, beyond.Cells)
	assert.Nil(t, beyond.NextOffset)
}

func TestSeveralMatricesHaveToBeNamed(t *testing.T) {
	s := newShop(t)
	other := deskMatrix()
	other.Name = "other desk"
	s.host.Matrices = append(s.host.Matrices, other)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	assert.Contains(t, refusal(t, c, "contract_run", `{}`).Detail, "matrix is missing; allowed: desk, other desk")
	answer[report.Digest](t, c, "contract_run", `{"matrix":"other desk","scenarios":["calm"]}`)
	assert.Equal(t, "other desk", answer[reportOutput](t, c, "contract_report", `{}`).Matrix, "the one that was run last")
	assert.Equal(t, "nothing_recorded", refusal(t, c, "contract_report", `{"matrix":"desk"}`).Code)

	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uriLatest})
	require.NoError(t, err)
	r, err := report.Read(strings.NewReader(res.Contents[0].Text), nil)
	require.NoError(t, err)
	assert.Equal(t, "other desk", r.Name)
}

func TestResilienceScore(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	p := refusal(t, c, "resilience_score", `{}`)
	assert.Equal(t, 400, p.Status)
	assert.Contains(t, p.Detail, "parts.mutation is missing; allowed: a score; or renormalise true")
	assert.NotContains(t, p.Detail, "OverallOptions", "the caller has arguments, and no options")
	answer[report.Digest](t, c, "contract_run", `{}`)
	ask(t, c, "chaos_run_experiment", `{"experiment_name":"slow database"}`)
	out := answer[scoreOutput](t, c, "resilience_score", `{"renormalise":true}`)
	// contract: (3+1+1)/(3+1+3+1) of the weights, chaos 100; half and half.
	assert.Equal(t, 81.25, out.Value)
	assert.True(t, out.Renormalised)
	assert.Equal(t, []string{"mutation", "replay"}, out.Missing)
	assert.Equal(t, 62.5, *out.Contract.Value)
	assert.Contains(t, out.Summary, "Contract verdict: FAIL")

	full := answer[scoreOutput](t, c, "resilience_score", `{"mutation":80,"replay":100}`)
	assert.InDelta(t, 0.2*80+0.35*100+0.35*62.5+0.1*100, full.Value, 0.0051)
	assert.False(t, full.Renormalised)
	assert.Equal(t, scoring.Fail, full.Verdict)
	assert.Equal(t, []bool{true, false, false, true}, []bool{full.Ran[0].Told, full.Ran[1].Told, full.Ran[2].Told, full.Ran[3].Told})
	p = refusal(t, c, "resilience_score", `{"renormalise":true,"weights":{"mutation":1,"chaos":1,"contract":0,"replay":0}}`)
	assert.Contains(t, p.Detail, "2", "the sum is named")
}

// Numbers that were typed in are no evidence, however good.
func TestAPartThatWasToldIsNoPass(t *testing.T) {
	s := newShop(t)
	s.host.Matrices[0].Scenarios = s.host.Matrices[0].Scenarios[:1]
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	assert.Equal(t, scoring.Pass, answer[report.Digest](t, c, "contract_run", `{}`).Score.Verdict)
	ask(t, c, "chaos_run_experiment", `{"experiment_name":"slow database"}`)
	assert.Equal(t, scoring.Pass, answer[scoreOutput](t, c, "resilience_score", `{"renormalise":true}`).Verdict)
	out := answer[scoreOutput](t, c, "resilience_score", `{"mutation":80,"replay":90}`)
	assert.Equal(t, scoring.Inconclusive, out.Verdict)
	assert.Equal(t, "INCONCLUSIVE: mutation and replay told and not measured. 95.00 of 100 over 4 of 4 parts.", out.Summary[:strings.Index(out.Summary, " Contract")])
}

const suiteFile = `
version: "2.0"
golden_prompts: ["Where is order 1042?"]
contract:
  name: desk
  invariants:
    - {id: names-the-order, type: contains, value: "1042", severity: critical}
  chaos_matrix:
    - name: calm
    - {name: orders-down, tool_faults: [{tool: "orders.*", mode: error, error_code: 503}]}
mutations: {types: [noise], count: 2}
replays:
  sessions:
    - file: monday.json
`

const sessionFile = `{"format": "shakedown/session", "version": 1, "name": "monday", "contract": "desk",
 "prompts": ["Where is order 1042?"],
 "calls": [{"tool": "orders.get", "args": {"order": "1042"}, "result": "shipped", "took": "12ms"}]}`

// The matrices of a suite run by name, and what they measure are parts of the score.
func TestTheMatricesOfASuite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "desk.yaml")
	require.NoError(t, os.WriteFile(path, []byte(suiteFile), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "monday.json"), []byte(sessionFile), 0o600))
	loaded, err := suite.Load(path, &suite.Options{OwnWorlds: true})
	require.NoError(t, err)
	h := Host{Name: "desk", Suite: loaded, SuiteWorld: deskMatrix().NewWorld}
	c := clientOf(t, serverOf(t, h, nil), nil)
	list := answer[listOutput](t, c, "contract_list", `{}`)
	var names []string
	for _, m := range list.Matrices {
		names = append(names, m.Name)
	}
	assert.Equal(t, []string{"contract", "mutation", "replay"}, names)
	for i, want := range []scoring.Verdict{scoring.Fail, scoring.Pass, scoring.Pass} {
		run := answer[report.Digest](t, c, "contract_run", `{"matrix":"`+names[i]+`"}`)
		assert.Equal(t, want, run.Score.Verdict, "%s: %s", names[i], run.Summary)
		assert.Equal(t, names[i], run.Matrix)
	}
	const weights = `"weights":{"mutation":0.3,"chaos":0,"contract":0.5,"replay":0.2}`
	score := answer[scoreOutput](t, c, "resilience_score", `{`+weights+`}`)
	assert.Equal(t, []string{"mutation", "contract", "replay"}, []string{score.Ran[0].Name, score.Ran[1].Name, score.Ran[2].Name})
	assert.Equal(t, scoring.Fail, score.Verdict)
	assert.False(t, score.Ran[0].Told)
	assert.Contains(t, refusal(t, c, "resilience_score", `{"mutation":90,`+weights+`}`).Detail, "mutation is 90; allowed: nothing, since this server has measured 100.00")

	found := answer[explainOutput](t, c, "explain", `{"matrix":"contract","runs":50}`)
	require.Len(t, found.Defects, 1)
	assert.Equal(t, "orders.get fails", found.Defects[0].Sentence)
	assert.Equal(t, found.Defects, answer[reportOutput](t, c, "contract_report", `{"matrix":"contract"}`).Defects, "they are kept")
	assert.Equal(t, "nothing_recorded", refusal(t, clientOf(t, serverOf(t, newShop(t).host, nil), nil), "explain", `{}`).Code)
}

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
