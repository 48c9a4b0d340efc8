package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A verdict is what an experiment showed.
type verdict string

const (
	held         verdict = "held"          // the steady state was kept all the time
	recovered    verdict = "recovered"     // it was missed, and was back after the rollbacks
	notRecovered verdict = "not recovered" // it was missed and stayed so
	notSteady    verdict = "not steady"    // it was missed before the fault: nothing was done
	stopped      verdict = "stopped"       // by a guard or a limit
)

func (v verdict) good() bool { return v == held || v == recovered }

// judge reads a journal.
func judge(j *experiment.Journal) verdict {
	s := &j.SteadyStates
	switch {
	case j.Status == experiment.Aborted:
		return stopped
	case s.Before == nil || !s.Before.Met:
		return notSteady
	case s.Recovered == nil || !s.Recovered.Met:
		return notRecovered
	case j.Status != experiment.Completed || j.Deviated:
		return recovered
	}
	return held
}

// result is what is known of an experiment that ended.
type result struct {
	Name     string
	Verdict  verdict
	Findings findings
	Journal  *experiment.Journal
}

// findings are what the recorded calls show of an experiment. The only other
// inputs are the beginning of the fault and the rule of an outage.
type findings struct {
	Injected  time.Time // from the journal
	Incidents []timeline.Incident
	Impact    timeline.Impact
	// Recovered are the seconds that the node of each incident took to recover;
	// undefined where it has not.
	Recovered []timeline.Value
}

// find looks at the calls from the beginning of the fault until now.
func (d *day) find(s scenario, j *experiment.Journal) (f findings, err error) {
	if len(j.Run) == 0 {
		return f, nil // nothing was done
	}
	f.Injected = j.Run[0].Start
	run := d.recorder.Run()
	end := j.End.Add(-run.BinSize()) // the last bin is not full
	if end.Before(f.Injected) {
		end = f.Injected
	}
	window := timeline.Query{Start: timeline.At(f.Injected), End: timeline.At(end)}
	rule := timeline.OutageRule{MinBins: minBins}
	if f.Incidents, err = run.DetectOutages(window, rule); err != nil {
		return f, err
	}
	for _, i := range f.Incidents {
		r, err := run.RecoveryTime(i.Node, &timeline.RecoveryOptions{BasedOn: timeline.Errors,
			OutageStart: timeline.At(i.StartTs), LookaheadEnd: window.End})
		if err != nil {
			return f, err
		}
		f.Recovered = append(f.Recovered, 60*r.DurationMinutes)
	}
	f.Impact, err = run.Impact(s.faultyNode, window, rule)
	return f, err
}

func (f *findings) write(w io.Writer) {
	if len(f.Incidents) == 0 {
		fmt.Fprintln(w, "  no outage in the recorded calls")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for n, i := range f.Incidents {
		fmt.Fprintf(t, "  %s\t%s\tfrom %s to %s\trecovered after %s\n", i.Type, i.Node, f.after(i.StartTs), f.after(i.EndTs),
			seconds(f.Recovered[n]))
	}
	fmt.Fprintf(t, "  around %s:\n", f.Impact.Node)
	for _, a := range f.Impact.Affected {
		fmt.Fprintf(t, "    %s\t%s by %d\t%s after %.1f s\tin %d bins\n", a.Node, a.Direction, a.Distance, a.How,
			a.DelaySec, a.AffectedBins)
	}
	for _, name := range f.Impact.Unaffected {
		fmt.Fprintf(t, "    %s\tunaffected\n", name)
	}
	_ = t.Flush() // w is a text
}

// after is a time since the fault; its bin may have begun a little before it.
func (f *findings) after(t time.Time) string {
	return fmt.Sprintf("%.1f s", max(0, t.Sub(f.Injected).Seconds()))
}

func seconds(v timeline.Value) string {
	if !v.Defined() {
		return "n/a"
	}
	return fmt.Sprintf("%.1f s", float64(v))
}

// text is a result as people read it.
func (r *result) text() string {
	var b strings.Builder
	r.Findings.write(&b)
	j := r.Journal
	if j.Why != "" {
		fmt.Fprintf(&b, "  %s: %s\n", j.Status, j.Why)
	}
	for _, a := range append(j.Run, j.Rollbacks...) {
		if a.Exception != "" {
			fmt.Fprintf(&b, "  %s: %s\n", a.Activity.Name, a.Exception)
		}
	}
	s := &j.SteadyStates
	fmt.Fprintf(&b, "  steady state before: %s; with the fault: %s; after the rollbacks: %s\n", state(s.Before),
		state(s.After), state(s.Recovered))
	fmt.Fprintf(&b, "  => %s, in %.1f s\n", strings.ToUpper(string(r.Verdict)), j.Duration)
	return b.String()
}

// state describes a steady state in words, with what was missed.
func state(s *experiment.SteadyState) string {
	if s == nil {
		return "not looked at"
	}
	var missed []string
	for _, p := range s.Probes {
		if p.Exception != "" || p.ToleranceMet != nil && !*p.ToleranceMet {
			missed = append(missed, p.Activity.Name)
		}
	}
	if len(missed) == 0 {
		return "met"
	}
	return "missed (" + strings.Join(missed, ", ") + ")"
}
