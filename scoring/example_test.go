package scoring_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/scoring"
)

func ExampleContract() {
	score, err := scoring.Contract([]scoring.Cell{
		{Scenario: "calm", Invariant: "no-leak", Severity: scoring.Critical, State: scoring.CellHeld},
		{Scenario: "calm", Invariant: "polite", Severity: scoring.Low, State: scoring.CellBroken},
		{Scenario: "flaky", Invariant: "no-leak", Severity: scoring.Critical, State: scoring.CellHeld, HasRules: true, Delivered: 4},
		{Scenario: "flaky", Invariant: "polite", Severity: scoring.Low, State: scoring.CellHeld, HasRules: true, Delivered: 2},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f %s: %s\n", score.Value, score.Verdict, score.Why)
	fmt.Printf("%d of %d held; from %.2f to %.2f at %.2f\n",
		score.Passed, score.Decided, score.Interval.Low, score.Interval.High, score.Interval.Level)
	// Output:
	// 87.50 PASS: no critical invariant broke; 3 of 4 decided cells held
	// 3 of 4 held; from 0.09 to 1.00 at 0.95
}

// A matrix whose faults were not delivered has a verdict and no score.
func ExampleContract_noDecidedCell() {
	score, err := scoring.Contract([]scoring.Cell{
		{Scenario: "flaky", Invariant: "no-leak", Severity: scoring.Critical, State: scoring.CellUndelivered, HasRules: true},
	}, nil)
	fmt.Println(errors.Is(err, scoring.ErrNoDecidedCell))
	text, _ := json.Marshal(score)
	fmt.Println(string(text))
	// Output:
	// true
	// {"verdict":"inconclusive","why":"no cell was decided; no fault was delivered in scenario \"flaky\"","passed":0,"decided":0,"total":1,"inconclusive":0,"undelivered":1,"notRun":0,"severities":[{"severity":"critical","passed":0,"decided":0,"total":1}]}
}

func ExampleWilson() {
	iv, err := scoring.Wilson(10, 10, scoring.Level95)
	fmt.Printf("%.4f %.4f %v\n", iv.Low, iv.High, err)
	// Output: 0.7225 1.0000 <nil>
}

func ExampleWeights_Overall() {
	chaos, contract := 80.0, 100.0
	parts := scoring.Parts{Chaos: &chaos, Contract: &contract, ContractVerdict: scoring.Pass}

	_, err := scoring.DefaultWeights().Overall(parts, &scoring.OverallOptions{})
	fmt.Println(err)

	all, err := scoring.DefaultWeights().Overall(parts, &scoring.OverallOptions{Renormalise: true})
	fmt.Println(all.Value, all.Ran, all.Missing, all.Renormalised, err)
	fmt.Println(all.Verdict, all.Why)
	// Output:
	// scoring: parts.mutation is missing; allowed: a score; or set OverallOptions.Renormalise to go without
	// scoring: parts.replay is missing; allowed: a score; or set OverallOptions.Renormalise to go without
	// 90 [{chaos 80 0.5} {contract 100 0.5}] [mutation replay] true <nil>
	// PASS the contract passed; these did not run: mutation, replay
}
