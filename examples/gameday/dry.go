package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// dry runs what is left of the day without doing any of it, and shows it.
func (d *day) dry(ctx context.Context) error {
	for _, s := range d.left() {
		j, err := experiment.Run(ctx, s.Experiment, &experiment.Options{Dry: true})
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "%s: %s\n", s.Name, s.Description)
		var probes []string
		for _, p := range j.SteadyStates.Before.Probes {
			probes = append(probes, p.Activity.Name)
		}
		fmt.Fprintf(d.out, "  before, after, and %v after the rollbacks: %s\n", s.Quiet, strings.Join(probes, ", "))
		for i, r := range j.Run {
			wait := ""
			if pause := s.Method[i].PauseAfter; pause > 0 {
				wait = fmt.Sprintf(", wait %v", pause)
			}
			fmt.Fprintf(d.out, "  %s: %s%s, undo it\n", r.Activity.Kind, r.Activity.Name, wait)
		}
		fmt.Fprintf(d.out, "  at most %v\n", s.MaxDuration)
	}
	return nil
}
