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

// recovered reports whether the system was back in its steady state when an experiment was over.
func recovered(j *experiment.Journal) bool {
	last := j.SteadyStates.Recovered
	return last != nil && last.Met && j.Status != experiment.Aborted
}

// verdict is what becomes of it in words.
func verdict(j *experiment.Journal) string {
	if recovered(j) {
		return "recovered"
	}
	return "not recovered"
}

// result is what is known of an experiment that ended.
type result struct {
	Name     string
	Findings findings
	Journal  *experiment.Journal
}

// findings are what the recorded calls show of an experiment. The only other
// inputs are the beginning of the fault and the rule of an outage.
type findings struct {
	Injected  time.Time // from the journal
	Incidents []timeline.Incident
	// Recovered are the seconds that the node of each incident took to recover;
	// undefined where it has not.
	Recovered []timeline.Value
}

// find looks at the calls from the beginning of the fault until now.
func (d *day) find(j *experiment.Journal) (f findings, err error) {
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
	return f, nil
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
	fmt.Fprintf(&b, "  => %s, in %.1f s\n", strings.ToUpper(verdict(j)), j.Duration)
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
