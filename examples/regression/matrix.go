package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// compare runs both agents against what was kept, and prints how each cell ended.
func compare(ctx context.Context, out io.Writer, dir, name string) error {
	fmt.Fprintln(out, "\nat most one refund")
	for _, agent := range []struct {
		name   string
		habits orderdesk.Habits
	}{{"fragile", orderdesk.Fragile()}, {"robust", orderdesk.Robust()}} {
		m, err := regression(agent.habits, dir, name)
		if err != nil {
			return err
		}
		report, err := m.Run(ctx, &contract.RunOptions{Workers: 8, Keep: contract.KeepAll})
		if err != nil {
			return err
		}
		for i := range report.Cells {
			c := &report.Cells[i]
			why, _, _ := strings.Cut(c.Why, "\n")
			line := fmt.Sprintf("  %-9s %-22s %-14v%s", agent.name, c.Cell.Scenario, c.State, why)
			fmt.Fprintln(out, strings.TrimRight(line, " "))
		}
	}
	return nil
}

// regression is the matrix that stays: the session played back, and the live desk under
// the session's faults. It reads the files as a test would.
func regression(h orderdesk.Habits, dir, name string) (*contract.Matrix, error) {
	s, err := replay.ReadFile(filepath.Join(dir, name+".session.json"))
	if err != nil {
		return nil, err
	}
	m := &contract.Matrix{
		Name:     "refund desk",
		NewWorld: live(h),
		Prompts:  s.Prompts,
		Invariants: []contract.Invariant{
			invariant.AtMostOnce("one-refund", contract.Critical, func(refunds []string) []string { return refunds }),
		},
	}
	for _, o := range []*replay.PlayOptions{nil, {ByOrder: true}} {
		scenarios, err := replay.Scenarios([]*replay.Session{s}, played(h), o)
		if err != nil {
			return nil, err
		}
		if o != nil {
			scenarios[0].Name += "-by-order"
		}
		m.Scenarios = append(m.Scenarios, scenarios...)
	}
	plans, err := filepath.Glob(filepath.Join(dir, name+".*.plan.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range plans {
		doc, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		plan, err := planjson.Decode(doc, nil)
		if err != nil {
			return nil, err
		}
		under := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), name+"."), ".plan.json")
		m.Scenarios = append(m.Scenarios, contract.Under(under, plan.Rules()...))
	}
	return m, nil
}

// played makes worlds whose tools answer as in the session. No tool runs, so what was
// done is what the session says of the calls that were played.
func played(h orderdesk.Habits) func(context.Context, *replay.Session, chaos.ToolRegistry) (*contract.World, error) {
	return func(_ context.Context, _ *replay.Session, tools chaos.ToolRegistry) (*contract.World, error) {
		state := func(ctx context.Context) (any, error) {
			all, err := tools.(*replay.Player).State(ctx)
			if err != nil {
				return nil, err
			}
			var refunds replay.Effects
			for _, e := range all.(replay.Effects) {
				if e.Tool == orderdesk.RefundTool {
					refunds = append(refunds, e)
				}
			}
			return refunds.Names(), nil
		}
		return &contract.World{Agent: orderdesk.Agent(h), Tools: tools, State: state}, nil
	}
}

// live makes worlds with the desk's real tools over a database of their own.
func live(h orderdesk.Habits) func(context.Context) (*contract.World, error) {
	newWorld := orderdesk.NewWorld(h)
	return func(ctx context.Context) (*contract.World, error) {
		w, err := newWorld(ctx)
		if err != nil {
			return nil, err
		}
		all := w.State
		w.State = func(ctx context.Context) (any, error) {
			s, err := all(ctx)
			if err != nil {
				return nil, err
			}
			return s.(orderdesk.State).Refunds, nil
		}
		return w, nil
	}
}
