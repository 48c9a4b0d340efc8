package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// runCell runs one cell and shows what happened in it.
func runCell(ctx context.Context, s *settings, stdout io.Writer) (int, error) {
	m, err := s.matrixOf(ctx, *s.cell)
	if err != nil {
		return exitError, err
	}
	r, err := m.RunCell(ctx, *s.cell, nil)
	if err != nil {
		return exitError, err
	}
	show := func() error { return showCell(stdout, s, r) }
	if s.fewest && r.Violated {
		show = func() error { return showFewest(ctx, s, m, r, stdout) }
	}
	if err := show(); err != nil {
		return exitError, err
	}
	switch {
	case r.Violated:
		return exitFail, nil
	case r.State == contract.Held:
		return exitPass, nil
	}
	return exitInconclusive, nil
}

func showCell(w io.Writer, s *settings, r *contract.CellReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %v (%v, agent %s, seed %d)\n", r.Cell, r.State, r.Severity, s.agent, s.seed)
	if o := r.Evidence; o != nil {
		fmt.Fprintf(&b, "\nprompt  %s\n", o.Prompt)
		if o.Err != nil {
			fmt.Fprintf(&b, "error   %v\n", o.Err)
		} else {
			fmt.Fprintf(&b, "answer  %s\n", o.Response)
		}
		if err := showCalls(&b, o.Events); err != nil {
			return err
		}
	}
	if r.Why != "" {
		fmt.Fprintf(&b, "\nwhy     %s\n", r.Why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// showCalls lists calls: when each began, which it was, what the caller got,
// and the fault that was injected into it.
func showCalls(w *strings.Builder, events []chaos.Event) error {
	if len(events) == 0 {
		w.WriteString("\ncalls: none\n")
		return nil
	}
	w.WriteString("\ncalls, in the order in which they began:\n")
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, e := range events {
		fmt.Fprintf(t, "  %s\t%s\ttry %d\t%s\t%s\n", e.Start.Round(time.Millisecond), e.Target, e.Attempt, ending(e),
			injectedFault(e))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) { // a call without a fault ends in the spaces of its column
		w.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return nil
}

func ending(e chaos.Event) string {
	if e.Err != "" {
		return e.Err
	}
	return string(e.Outcome)
}

func injectedFault(e chaos.Event) string {
	switch {
	case e.Rule == "":
		return ""
	case e.Delivered && e.Effect == chaos.EffectDone && e.Err != "":
		return "<- " + e.Fault + ", after the work was done"
	case e.Delivered:
		return "<- " + e.Fault
	}
	return "<- " + e.Fault + ", without effect"
}
