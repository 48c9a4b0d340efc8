package gameday

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A GameDay runs a list of experiments.
type GameDay struct {
	_    struct{}
	Name string
	// Experiments are the names of registered experiments, in their order. Empty: all, in the order of their names.
	Experiments []string
}

// A Report is the result of a game day.
type Report struct {
	Name     string    `json:"name"`
	Start    time.Time `json:"start"` // UTC
	End      time.Time `json:"end"`
	Duration float64   `json:"duration_seconds"`
	Planned  int       `json:"planned"`
	// Run is the number of experiments that ran; Succeeded is how many of those
	// succeeded.
	Run       int     `json:"run"`
	Succeeded int     `json:"succeeded"`
	Entries   []Entry `json:"entries"` // in the order of the list
}

// An Entry is one experiment of a game day.
type Entry struct {
	Name   string             `json:"experiment_name"`
	Result *experiment.Result `json:"result"` // nil: it did not run
	// Problem says why it did not run, or that the history could not be written.
	Problem string `json:"problem,omitempty"`
}

// Run runs the experiments of the list, one after the other. A cancelled context ends
// the one under way, which is rolled back, and begins no further one.
// Each result is added to the history of the lab when its experiment ends. An empty
// list or an unknown name is an error; then nothing has run.
func (g *GameDay) Run(ctx context.Context, lab *Lab) (*Report, error) {
	names, err := g.names(lab)
	if err != nil {
		return nil, err
	}
	r := &Report{Name: g.Name, Start: time.Now().UTC(), Planned: len(names), Entries: make([]Entry, len(names))}
	for i, name := range names {
		e := play(ctx, lab, name)
		r.Entries[i] = e
		if e.Result != nil {
			r.Run++
			if e.Result.Success {
				r.Succeeded++
			}
		}
	}
	r.End = time.Now().UTC()
	r.Duration = r.End.Sub(r.Start).Seconds()
	return r, nil
}

func (g *GameDay) names(lab *Lab) ([]string, error) {
	if lab == nil {
		return nil, errors.New("gameday: the lab is nil")
	}
	known := lab.Names()
	names := g.Experiments
	if len(names) == 0 {
		names = known
	}
	if len(names) == 0 {
		return nil, errors.New("gameday: no experiment is registered; allowed: at least one")
	}
	registered := make(map[string]bool)
	for _, name := range known {
		registered[name] = true
	}
	var problems []error
	for i, name := range names {
		if !registered[name] {
			problems = append(problems, fmt.Errorf("gameday: Experiments[%d]: %w %q", i, ErrUnknown, name))
		}
	}
	return names, errors.Join(problems...)
}

func play(ctx context.Context, lab *Lab, name string) Entry {
	e := Entry{Name: name}
	if ctx.Err() != nil {
		e.Problem = "not run: " + usercode.ErrorText(context.Cause(ctx))
		return e
	}
	result, err := lab.Run(ctx, name, false)
	if err != nil {
		e.Problem = err.Error()
	}
	if result.Name != "" { // it ran, even if the history could not be written
		e.Result = &result
	}
	return e
}

// WriteText writes the report as a table.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range r.Entries {
		verdict, took, note := "-", "", e.Problem
		if e.Result != nil {
			verdict, took, note = "FAIL", seconds(e.Result.Duration), noteOf(e)
			if e.Result.Success {
				verdict = "ok"
			}
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", verdict, e.Name, took, note)
	}
	_ = t.Flush() // into memory
	_, err := fmt.Fprintf(w, "Game day %q: %d of %d experiments succeeded, %d did not run, %s\n",
		r.Name, r.Succeeded, r.Planned, r.Planned-r.Run, seconds(r.Duration))
	for line := range bytes.Lines(b.Bytes()) {
		_, wrong := fmt.Fprintf(w, "%s\n", bytes.TrimRight(line, " \n"))
		err = errors.Join(err, wrong)
	}
	return err
}

func noteOf(e Entry) string {
	r := e.Result
	var note string
	switch {
	case r.Error != nil:
		note = *r.Error
	case !r.Success:
		note = "not in its steady state afterwards"
	}
	if r.Recovered != nil && !*r.Recovered {
		note = join(note, "not recovered after the rollbacks")
	}
	return join(note, e.Problem)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}
