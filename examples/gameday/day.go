package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// day is a game day: the services, their customers, and who watches them.
type day struct {
	set      *settings
	out      io.Writer
	recorder *trace.Recorder
	injector *chaos.Injector
	system   *system
	results  []result
	problems []error // of looking at results

	mu    sync.Mutex
	calls []endedCall // of customers, the newest last
}

func newDay(s *settings, stdout io.Writer) (*day, error) {
	rec, err := trace.NewRecorder(&trace.Options{
		Run:  timeline.RunOptions{BinSize: s.bin()},
		Type: func(chaos.Event) timeline.NodeType { return timeline.NodeHTTP },
	})
	if err != nil {
		return nil, err
	}
	d := &day{set: s, out: stdout, recorder: rec}
	d.injector = chaos.NewInjector(seed, &chaos.InjectorOptions{
		RecordAll: true, MaxLog: -1, OnEvent: d.ended, Targets: []string{placeOrder, askStatus},
	})
	d.system = newSystem(func(armed time.Time) func(context.Context, chaos.Event) { return rec.From(armed).Record })
	return d, nil
}

// run starts the services and the customers, runs the day, and ends everything again.
func (d *day) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var customers sync.WaitGroup
	defer func() {
		cancel()
		customers.Wait()
		err = errors.Join(err, d.system.stop())
	}()
	if err := d.system.start(ctx); err != nil {
		return err
	}
	for _, name := range services() {
		p := d.system.current(name)
		fmt.Fprintf(d.out, "%-8s process %d at %s\n", name, p.cmd.Process.Pid, p.addr)
	}
	customers.Go(func() { load(ctx, d.system.client, d.injector) })
	if err := d.settle(ctx); err != nil {
		return err
	}
	if err := d.play(ctx); err != nil {
		return err
	}
	return d.sum()
}

// play runs the scenarios one after the other.
func (d *day) play(ctx context.Context) error {
	lab := gameday.NewLab(&gameday.LabOptions{Injector: d.injector})
	list := &gameday.GameDay{Name: "game day"}
	for _, s := range d.scenarios() {
		if s.Name == pauseOrders && !canPause() {
			fmt.Fprintf(d.out, "\n%s: this system cannot pause a process\n", s.Name)
			continue
		}
		s.OnStep = d.watch(s)
		if err := lab.Register(s.Experiment); err != nil {
			return err
		}
		list.Experiments = append(list.Experiments, s.Name)
	}
	if len(list.Experiments) == 0 {
		return nil // without names the game day would run all of them
	}
	report, err := list.Run(ctx, lab)
	if ctx.Err() != nil {
		return fmt.Errorf("gameday: interrupted after %d finished experiments", len(d.results))
	}
	if err != nil {
		return err
	}
	for _, e := range report.Entries {
		if e.Problem != "" {
			d.problems = append(d.problems, fmt.Errorf("gameday: %s: %s", e.Name, e.Problem))
		}
	}
	return errors.Join(d.problems...)
}

// watch reports an experiment as it runs, and looks at what it did when it is over.
func (d *day) watch(s scenario) func(context.Context, experiment.Step) {
	return func(_ context.Context, step experiment.Step) {
		switch {
		case step.Level == experiment.LevelExperiment && !step.Ended:
			fmt.Fprintf(d.out, "\n%s: %s\n", s.Name, s.Description)
		case step.Level == experiment.LevelMethod && !step.Ended:
			fmt.Fprintf(d.out, "  all is well; now the fault, for %v\n", d.set.fault)
		case step.Level == experiment.LevelExperiment && step.Journal.Status == experiment.Interrupted:
			fmt.Fprintf(d.out, "  interrupted; %s\n", undone(step.Journal))
		case step.Level == experiment.LevelExperiment:
			f, err := d.find(s, step.Journal)
			if err != nil {
				d.problems = append(d.problems, err)
			}
			r := result{Name: s.Name, Verdict: judge(step.Journal), Findings: f, Journal: step.Journal}
			d.results = append(d.results, r)
			_, _ = io.WriteString(d.out, r.text())
		}
	}
}

func undone(j *experiment.Journal) string {
	failed := 0
	for _, r := range j.Rollbacks {
		if r.Status == experiment.ActivityFailed {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Sprintf("%d of %d rollbacks failed", failed, len(j.Rollbacks))
	}
	return fmt.Sprintf("all %d rollbacks done", len(j.Rollbacks))
}

// dry runs the day without doing any of it, and shows it.
func (d *day) dry(ctx context.Context) error {
	for _, s := range d.scenarios() {
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

// status reports whether all that ran has recovered.
func (d *day) status() int {
	for _, r := range d.results {
		if !r.Verdict.good() {
			return exitNotRecovered
		}
	}
	return exitRecovered
}
