package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// show prints the session as it came out of the trace.
func show(out io.Writer, s *replay.Session) error {
	fmt.Fprintf(out, "%s, recorded %s\n  prompt  %s\n  answer  %s\n\n", s.Name,
		s.Source.CapturedAt.UTC().Format(time.RFC3339), strings.Join(s.Prompts, " / "), s.Answer)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, c := range s.Calls {
		ending := "ok"
		if c.Error != nil {
			ending = c.Error.Text
		}
		fmt.Fprintf(t, "  %d\t%s\t%v\t%s\t%s\n", i+1, c.Tool, c.Took.Round(time.Millisecond), ending,
			cmp.Or(string(c.Effect), "-"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return showFindings(out, s)
}

// showFindings prints what the calls show, and what they leave open.
func showFindings(out io.Writer, s *replay.Session) error {
	report, err := s.Findings(nil)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nfindings")
	for _, f := range report.Findings {
		fmt.Fprintf(out, "  %s, calls %s: %s\n", f.Kind, strings.Trim(fmt.Sprint(f.Calls), "[]"), f.Text)
	}
	if why := report.Unjudged[findings.DuplicateEffect]; why != "" {
		fmt.Fprintf(out, "  %s, not judged: %s\n", findings.DuplicateEffect, why)
	}
	return nil
}

// A reading is what a time-out may have been: a request that was lost, or a reply.
type reading struct {
	name string
	plan *chaos.Plan
}

// readings makes a plan of each reading of the session's time-outs.
func readings(s *replay.Session) (plans []reading, err error) {
	for _, r := range []struct {
		name      string
		afterWork bool
	}{{"live-request-lost", false}, {"live-reply-lost", true}} {
		rules, err := s.Faults(&replay.FaultOptions{AfterWork: r.afterWork})
		if err != nil {
			return nil, err
		}
		plan, err := chaos.NewPlan(1, rules...)
		if err != nil {
			return nil, err
		}
		plans = append(plans, reading{r.name, plan})
	}
	return plans, nil
}

// askLedger adds to the session what no trace can tell. A person has looked it up: the
// ledger of the payment provider has two refunds, R-1 and R-2, and the trace only R-2.
func askLedger(out io.Writer, s *replay.Session) {
	for i := range s.Calls {
		if c := &s.Calls[i]; c.Effect == findings.Unknown {
			c.Effect = findings.Done
			fmt.Fprintf(out, "\nthe ledger has R-1 too, so call %d did its work\n", i+1)
		}
	}
	s.ExpectedFailure = "the customer was paid twice"
}

// keep writes session and plans, to be committed beside the tests.
func keep(out io.Writer, dir string, s *replay.Session, plans []reading) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(dir, s.Name+".session.json")
	if err := s.WriteFile(file); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nkept %s\n", file)
	for _, r := range plans {
		doc, err := planjson.Encode(r.plan, nil)
		file := filepath.Join(dir, s.Name+"."+r.name+".plan.json")
		if err = errors.Join(err, os.WriteFile(file, doc, 0o644)); err != nil {
			return err
		}
		fmt.Fprintf(out, "kept %s\n", file)
		for _, rule := range r.plan.Rules() {
			fault := rule.Fault.(chaos.Described).Describe()
			trigger := rule.When.(chaos.Described).Describe()
			fmt.Fprintf(out, "  %s: %s %s, %s %s\n", rule.Target, trigger.Kind, trigger.Params, fault.Kind, fault.Params)
		}
	}
	return nil
}
