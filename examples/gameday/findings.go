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

// findings are what the recorded calls show of an experiment. The only other
// inputs are the beginning of the fault and the rule of an outage.
type findings struct {
	Injected  time.Time        `json:"injected"` // from the journal
	Incidents []incident       `json:"incidents"`
	Impact    *timeline.Impact `json:"impact,omitempty"`
	// Detect is the time from the fault until the first streak of bad bins was
	// long enough for an alarm, Recover the time to the end of the last bad bin.
	// In seconds; undefined where nothing was found, or nothing ended.
	Detect  timeline.Value `json:"detectSec"`
	Recover timeline.Value `json:"recoverSec"`
}

// incident is an outage or a degradation, and how it ended.
type incident struct {
	timeline.Incident
	Recovery timeline.Recovery `json:"recovery"`
}

// find looks at the calls from the beginning of the fault until now.
func (d *day) find(s scenario, j *experiment.Journal) (findings, error) {
	f := nothing()
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
	found, err := run.DetectOutages(window, s.rule)
	if err != nil {
		return f, err
	}
	over := true
	for _, i := range found {
		o := s.recovery
		o.OutageStart, o.LookaheadEnd = timeline.At(i.StartTs), window.End
		if o.Definition == timeline.Baseline {
			o.BaselineStart = timeline.At(f.Injected.Add(-judged))
			o.BaselineEnd = timeline.At(f.Injected.Add(-run.BinSize()))
		}
		r, err := run.RecoveryTime(i.Node, &o)
		if err != nil {
			return f, err
		}
		f.Incidents = append(f.Incidents, incident{i, r})
		over = over && !i.EndTs.After(end)
	}
	f.time(run.BinSize(), over)
	impact, err := run.Impact(s.faultyNode, window, s.rule)
	f.Impact = &impact
	return f, err
}

// time measures the time from the fault to its effects.
func (f *findings) time(bin time.Duration, over bool) {
	for n, i := range f.Incidents {
		detect := timeline.Value(i.StartTs.Add(minBins * bin).Sub(f.Injected).Seconds())
		end := timeline.Value(i.EndTs.Sub(f.Injected).Seconds())
		if n == 0 || detect < f.Detect {
			f.Detect = detect
		}
		if over && (n == 0 || end > f.Recover) {
			f.Recover = end
		}
	}
}

func (f *findings) write(w io.Writer) {
	if len(f.Incidents) == 0 {
		fmt.Fprintln(w, "  no outage in the recorded calls")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, i := range f.Incidents {
		fmt.Fprintf(t, "  %s\t%s\tfrom %s to %s\t%s\n", i.Type, i.Node, f.after(i.StartTs), f.after(i.EndTs),
			i.recovery())
	}
	_ = t.Flush() // w is a text
	f.impact(w)
	fmt.Fprintf(w, "  detected after %s, over after %s\n", seconds(f.Detect), seconds(f.Recover))
}

func (f *findings) impact(w io.Writer) {
	if f.Impact == nil {
		return
	}
	fmt.Fprintf(w, "  around %s:\n", f.Impact.Node)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, a := range f.Impact.Affected {
		fmt.Fprintf(t, "    %s\t%s by %d\t%s after %.1f s\tin %d bins\n", a.Node, a.Direction, a.Distance, a.How,
			a.DelaySec, a.AffectedBins)
	}
	for _, name := range f.Impact.Unaffected {
		fmt.Fprintf(t, "    %s\tunaffected\n", name)
	}
	_ = t.Flush()
}

// after is a time since the fault; its bin may have begun a little before it.
func (f *findings) after(t time.Time) string {
	return fmt.Sprintf("%.1f s", max(0, t.Sub(f.Injected).Seconds()))
}

func (i *incident) recovery() string {
	notes := strings.Join(i.Recovery.Notes, "; ")
	if !i.Recovery.DurationMinutes.Defined() {
		return notes
	}
	what := "no errors"
	if i.Recovery.BasedOn != timeline.Errors {
		what = string(i.Recovery.BasedOn) + " as before"
	}
	text := fmt.Sprintf("%s after %s", what, seconds(60*i.Recovery.DurationMinutes))
	if notes != "" {
		text += " (" + notes + ")"
	}
	return text
}

func seconds(v timeline.Value) string {
	if !v.Defined() {
		return "n/a"
	}
	return fmt.Sprintf("%.1f s", float64(v))
}

// mean is undefined where there is nothing to average.
func mean(values []timeline.Value) timeline.Value {
	sum, n := 0.0, 0.0
	for _, v := range values {
		if v.Defined() {
			sum, n = sum+float64(v), n+1
		}
	}
	return timeline.Value(sum / n)
}

func undefined() timeline.Value { return mean(nil) }

func nothing() findings {
	return findings{Incidents: []incident{}, Detect: undefined(), Recover: undefined()}
}
