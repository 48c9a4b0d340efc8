package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
)

// A verdict is what an experiment showed.
type verdict string

const (
	held         verdict = "held"          // the steady state was kept all the time
	recovered    verdict = "recovered"     // it was missed, and was back after the rollbacks
	notRecovered verdict = "not recovered" // it was missed and stayed so
	notSteady    verdict = "not steady"    // it was missed before the fault: nothing was done
	stopped      verdict = "stopped"       // by a guard or a limit
	skipped      verdict = "skipped"       // this system cannot do it
)

func (v verdict) good() bool { return v == held || v == recovered || v == skipped }

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

// result is what is kept of an experiment.
type result struct {
	Name     string              `json:"name"`
	Verdict  verdict             `json:"verdict"`
	Seed     uint64              `json:"seed,string"`
	Findings findings            `json:"findings"`
	Journal  *experiment.Journal `json:"journal,omitempty"` // nil: skipped
}

// details is the file of a result in the folder of the day.
func details(dir, name string) string { return filepath.Join(dir, name+".json") }

// save writes a result to its file in one step.
func (r *result) save(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("gameday: %s: %w", r.Name, err)
	}
	f, err := os.CreateTemp(dir, r.Name+"-*.tmp")
	if err != nil {
		return fmt.Errorf("gameday: %s: %w", r.Name, err)
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("gameday: %s: %w", r.Name, err)
	}
	if err := os.Rename(f.Name(), details(dir, r.Name)); err != nil {
		return fmt.Errorf("gameday: %s: %w", r.Name, err)
	}
	return nil
}

// loadResults reads the results of the finished experiments in the history. One
// that was interrupted has no details, and does not count as finished.
func loadResults(dir string, history *gameday.History) (found []result, err error) {
	for _, name := range names() {
		if len(history.Results(name)) == 0 {
			continue
		}
		text, err := os.ReadFile(details(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var r result
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("gameday: result of %s: %w", name, err)
		}
		found = append(found, r)
	}
	return found, nil
}
