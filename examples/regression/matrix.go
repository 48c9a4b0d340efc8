package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/search"
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
		if err := showCures(ctx, out, m, report); err != nil {
			return err
		}
	}
	return nil
}

// showCures prints the defects behind what broke, and what would mend them.
func showCures(ctx context.Context, out io.Writer, m *contract.Matrix, r *contract.Report) error {
	o := &search.Options{Run: contract.RunOptions{Workers: 8}, Budget: search.Budget{Runs: 500}, Habits: orderdesk.HabitsToTry()}
	if err := search.Explain(ctx, m, r, o); err != nil {
		return err
	}
	if err := search.Cure(ctx, m, r, o); err != nil {
		return err
	}
	for _, d := range r.Defects {
		fmt.Fprintf(out, "  %s\n", d.Sentence)
		for _, h := range d.Cure.Habits {
			fmt.Fprintf(out, "    mended by %s on %s (%d of %d cells)\n", h.Does, strings.Join(h.Tools, ", "), d.Cure.Held, d.Cure.Cells)
		}
		if d.Cure.Why != "" {
			fmt.Fprintf(out, "    %s\n", d.Cure.Why)
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
		NewWorld: orderdesk.NewWorld(h),
		Prompts:  s.Prompts,
		Invariants: []contract.Invariant{
			invariant.AtMostOnce("one-refund", contract.Critical, func(s orderdesk.State) []string { return s.Refunds }),
		},
	}
	for _, o := range []*replay.PlayOptions{nil, {ByOrder: true}} {
		scenarios, err := replay.Scenarios([]*replay.Session{s}, orderdesk.Played(h), o)
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
