package suite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/scoring"
)

// A contract in a file is run against an agent in Go.
func Example() {
	s, err := suite.Load("testdata/refunds.yaml", &suite.Options{Effects: effects()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for name, m := range s.Matrices(world(1)) {
		fmt.Println(name, len(m.Cells()), "cells in", len(m.Scenarios), "scenarios")
	}
	// Output:
	// contract 20 cells in 5 scenarios
	// mutation 34 cells in 17 scenarios
	// replay 8 cells in 2 scenarios
}

// Every problem of a file has its place, what is allowed, and the nearest name.
func ExampleLoad_problems() {
	dir, _ := os.MkdirTemp("", "suite")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "contract.yaml")
	_ = os.WriteFile(path, []byte(`version: "2.0"
golden_prompts: ["Where is order 1042?"]
contract:
  name: desk
  invariants:
    - {type: contains, value: 1042}
    - {type: completes, when: tool_fault_active}
  chaos_matrix: [{name: calm}]
`), 0o600)
	_, err := suite.Load(path, nil)
	for _, problem := range err.(interface{ Unwrap() []error }).Unwrap() {
		e := problem.(*scoring.FieldError)
		fmt.Printf("%d:%d %s is %v\n", e.Line, e.Column, e.Field, e.Value)
	}
	// Output:
	// 6:31 contract/invariants/0/value is a number
	// 7:31 contract/invariants/1/when is "tool_fault_active"
}

// The parts of a score.
func ExampleSuite_Score() {
	s, err := suite.Load("testdata/quick.json", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := func(context.Context, string, chaos.ToolRegistry) (string, error) { return "It is on its way.", nil }
	reports := map[string]*contract.Report{}
	for name, m := range s.Matrices(func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil }) {
		r, err := m.Run(context.Background(), nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		reports[name] = r
	}
	result, err := s.Score(reports, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v %.2f, without %v\n", result.Verdict, result.Overall.Value, result.Overall.Missing)
	// Output: PASS 100.00, without [mutation chaos replay]
}
