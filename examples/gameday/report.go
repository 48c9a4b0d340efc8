package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/scoring/timeline"
	"github.com/shakedown-go/shakedown/scoring/timeline/plot"
)

// report sums up the day.
type report struct {
	Seed    uint64   `json:"seed,string"`
	Results []result `json:"results"`
	// Detect and Recover are the means over the faults that had an effect, in seconds.
	Detect  timeline.Value `json:"meanTimeToDetectSec"`
	Recover timeline.Value `json:"meanTimeToRecoverSec"`
	// The fields below are about this run of the program, without the day that it
	// resumed. Recorded is false if nothing was left to run.
	Recorded bool                  `json:"recorded"`
	Day      *gameday.Report       `json:"day"`
	Graph    timeline.Graph        `json:"graph"`
	Faults   []timeline.FaultStats `json:"faults"`  // those injected into calls
	Budgets  []timeline.Budget     `json:"budgets"` // as if all nodes had the service level of the gateway's
}

func (d *day) sum() (*report, error) {
	r := &report{Seed: d.set.seed, Results: d.results, Day: d.report}
	var toDetect, toRecover []timeline.Value
	for _, x := range d.results {
		toDetect, toRecover = append(toDetect, x.Findings.Detect), append(toRecover, x.Findings.Recover)
	}
	r.Detect, r.Recover = mean(toDetect), mean(toRecover)
	run := d.recorder.Run()
	if r.Recorded = run.Bins() > 0; !r.Recorded {
		return r, nil
	}
	r.Graph = run.Graph(timeline.GraphQuery{})
	var err, err2 error
	r.Faults, err = run.Faults(timeline.Query{}, timeline.OutageRule{MinBins: minBins})
	r.Budgets, err2 = run.Budgets(timeline.Query{}, timeline.SLO{Objective: goodShare, Latency: goodWithin})
	return r, errors.Join(err, err2)
}

// text is a result as people read it.
func (r *result) text() string {
	var b strings.Builder
	if r.Journal == nil {
		fmt.Fprintf(&b, "  %s: this system cannot pause a process\n", r.Verdict)
		return b.String()
	}
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

func (r *report) text() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\nResults\n")
	for _, x := range r.Results {
		fmt.Fprintf(t, "  %s\t%s\tdetected after %s\tover after %s\n", x.Name, x.Verdict, seconds(x.Findings.Detect),
			seconds(x.Findings.Recover))
	}
	fmt.Fprintf(t, "  mean time\t\tto detect %s\tto recover %s\n", seconds(r.Detect), seconds(r.Recover))
	if r.Recorded {
		r.calls(t)
	}
	_ = t.Flush() // b is a text
	return b.String()
}

func (r *report) calls(w io.Writer) {
	fmt.Fprint(w, "\nCalls\n")
	for _, e := range r.Graph.Edges {
		if e.Class == customersClass {
			fmt.Fprintf(w, "  %s\t-> %s\t%d\t%d failed\n", e.From, e.To, e.Attempts, e.Failures)
		}
	}
	if len(r.Faults) > 0 {
		fmt.Fprint(w, "\nFaults injected into calls\n")
	}
	for _, f := range r.Faults {
		fmt.Fprintf(w, "  %s\t%s\tin %d calls\tto an outage %s\tto its end %s\n", f.Node, f.Fault, f.Delivered,
			seconds(f.MeanTimeToDetect), seconds(f.MeanTimeToRecover))
	}
	fmt.Fprintf(w, "\nService level: %.0f %% of calls good within %v\n", 100*goodShare, goodWithin)
	for _, x := range r.Budgets {
		if x.Node != placeOrder && x.Node != askStatus {
			continue // only customers have a service level
		}
		fmt.Fprintf(w, "  %s\t%d of %d good\t%.1f %%\t%.1f times the error budget of this day\n", x.Node, x.Good,
			x.Ended, 100*float64(x.SLI), float64(x.Consumed))
	}
}

// write puts the report, the plot and the recorded calls into the folder.
func (d *day) write(r *report, text string) error {
	errs := []error{
		d.file("report.txt", func(w io.Writer) error { _, err := io.WriteString(w, text); return err }),
		d.file("report.json", func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(r)
		}),
	}
	if r.Recorded {
		errs = append(errs,
			d.plot("timeline.svg", plot.Options{Title: "Game day", Rule: timeline.OutageRule{MinBins: minBins}}),
			d.file("samples.jsonl", d.recorder.Samples().WriteLines))
	}
	return errors.Join(errs...)
}

func (d *day) plot(name string, o plot.Options) error {
	return d.file(name, func(w io.Writer) error { return plot.SVG(w, d.recorder.Run(), &o) })
}

func (d *day) file(name string, write func(io.Writer) error) (err error) {
	f, err := os.Create(filepath.Join(d.set.out, name))
	if err != nil {
		return fmt.Errorf("gameday: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}
