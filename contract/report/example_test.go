package report_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

func ExampleText() {
	cell := func(scenario, invariant string, delivered int) contract.CellReport {
		return contract.CellReport{
			Cell:     contract.Cell{Scenario: scenario, Invariant: invariant, Trial: 1},
			Severity: contract.High, State: contract.Held, Delivered: delivered,
		}
	}
	r := &contract.Report{
		Name: "support", Seed: 42, Trials: 1,
		Scenarios:  []string{"calm", "refund-down"},
		Invariants: []string{"one-refund", "honest"},
		Cells: []contract.CellReport{
			cell("calm", "one-refund", 0), cell("calm", "honest", 0),
			cell("refund-down", "one-refund", 3), cell("refund-down", "honest", 3),
		},
		Score: scoring.ContractScore{
			Value: 75, Verdict: scoring.Pass, Why: "no critical invariant broke; 3 of 4 decided cells held",
			Passed: 3, Decided: 4, Total: 4, Interval: scoring.Interval{Low: 0.1941, High: 0.9937, Level: 0.95},
		},
	}
	lie := &r.Cells[3]
	lie.State, lie.Violated, lie.Why = contract.Broken, true, "the answer claims a refund that was not made"
	lie.Evidence = &contract.Observation{
		Prompt: "Refund order 1042", Response: "Done!\nAnything else?",
		Events: []chaos.Event{{
			Target: "refund", Rule: "refund:fail", Fault: "fail", Delivered: true, Err: "503 service unavailable",
		}},
	}
	lie.Rerun = "go test -run 'TestSupport/refund-down/honest/1'"

	if err := report.Text(os.Stdout, r, nil); err != nil {
		fmt.Println(err)
	}
	// Output:
	// support
	//
	//              one-refund  honest
	// scenario     high        high    delivered
	// ──────────────────────────────────────────
	// calm         ✓           ✓       ·
	// refund-down  ✓           ✗       2/2
	//
	// ✗ broken   ✓ held
	// delivered: the cells in which a fault reached something the agent uses, of those that ran
	//
	// PASS no critical invariant broke; 3 of 4 decided cells held
	//
	// score     75.00 of 100, weighted by severity
	// held      3 of 4 decided cells, 75.0 % (95 % interval 19.4 % to 99.4 %, exact)
	// cells     4: 4 decided
	// run       2 scenarios × 2 invariants × 1 trial, seed 42
	//
	// BROKEN
	//
	// ✗ refund-down / honest (high): broken
	//   why       the answer claims a refund that was not made
	//   prompt    Refund order 1042
	//   answer    Done!\nAnything else?
	//   faults    refund, call 1: fail (rule refund:fail), the caller got: 503 service unavailable
	//   rerun     go test -run 'TestSupport/refund-down/honest/1'
}

func ExampleRead() {
	cell := func(trial int, state contract.CellState) contract.CellReport {
		return contract.CellReport{Cell: contract.Cell{Scenario: "calm", Invariant: "one-refund", Trial: trial},
			Severity: contract.Critical, State: state, Violated: state == contract.Broken}
	}
	r := &contract.Report{Name: "support", Seed: 42, Trials: 2, Scenarios: []string{"calm"}, Invariants: []string{"one-refund"},
		Cells: []contract.CellReport{cell(1, contract.Held), cell(2, contract.Broken)}}
	r.Counts = []scoring.Cell{
		{Scenario: "calm", Invariant: "one-refund", Severity: contract.Critical, State: contract.Held, Count: 1},
		{Scenario: "calm", Invariant: "one-refund", Severity: contract.Critical, State: contract.Broken, Violated: true, Count: 1}}
	if err := r.Judge(); err != nil { // as Matrix.Run does
		fmt.Println(err)
	}

	var file bytes.Buffer
	if err := report.Write(&file, r, &report.WriteOptions{Stable: true}); err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(file.String()) {
		if strings.HasPrefix(line, `{"unit"`) {
			fmt.Print(line)
		}
	}
	edited := strings.Replace(file.String(), `"states":"b"`, `"states":"h"`, 1)
	kept, err := report.Read(&file, nil)
	fmt.Println(kept.Score.Passed, "of", kept.Score.Decided, err)
	_, err = report.Read(strings.NewReader(edited), nil)
	fmt.Println(err)
	// Output:
	// {"unit":"calm/1","states":"h","sum":"XfWIReChg/g"}
	// {"unit":"calm/2","states":"b","sum":"O3XngRWasK4"}
	// 1 of 2 <nil>
	// contract: line 3, column 1: sum is another or none; allowed: that of the line, which was changed or cut
}

// Each shard of a run has a file of its own. A file that is missing is noticed.
func ExampleMerge() {
	dir, err := os.MkdirTemp("", "parts")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	m := &contract.Matrix{Name: "support", Trials: 3, Prompts: []string{"Where is order 1042?"},
		World: &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			return "It is on its way.", nil
		}},
		Scenarios:  []contract.Scenario{contract.Calm()},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High, Check: func(context.Context, *contract.Observation) error { return nil }}},
	}
	whole := filepath.Join(dir, "whole.run.jsonl")
	if _, err := m.Run(context.Background(), &contract.RunOptions{File: whole}); err != nil {
		panic(err)
	}
	text, _ := os.ReadFile(whole) // in place of shards, the file is cut: a head, three units and an end
	lines := strings.SplitAfter(string(text), "\n")
	first, second := filepath.Join(dir, "1of2.run.jsonl"), filepath.Join(dir, "2of2.run.jsonl")
	_ = os.WriteFile(first, []byte(lines[0]+lines[1]+lines[3]), 0o600)
	_ = os.WriteFile(second, []byte(lines[0]+lines[2]), 0o600)

	for _, parts := range [][]string{{second, first}, {first}} {
		r, err := report.Merge(io.Discard, parts...)
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Score.Verdict, r.Score.Why)
	}
	// Output:
	// PASS no critical invariant broke; 3 of 3 decided cells held
	// INCONCLUSIVE The merged parts lack 1 of 3 units: calm/2
}
