package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
	"github.com/shakedown-go/shakedown/scoring/timeline/plot"
)

// day is a game day: the services, their customers, and who watches them.
type day struct {
	set      *settings
	out      io.Writer
	history  *gameday.History
	recorder *trace.Recorder
	injector *chaos.Injector
	system   *system
	results  []result // of this day and, resumed, of the one before
	report   *gameday.Report
	problems []error // of keeping results
}

const keptSamples = 1 << 14 // about 3 MB; a day has less

func newDay(s *settings, stdout io.Writer) (*day, error) {
	rec, err := trace.NewRecorder(&trace.Options{
		Run: timeline.RunOptions{BinSize: s.bin()}, Keep: keptSamples,
		Types: []trace.NodeRule{{Target: "*", Type: timeline.NodeHTTP}},
	})
	if err != nil {
		return nil, err
	}
	d := &day{set: s, out: stdout, recorder: rec}
	d.injector = chaos.NewInjector(s.seed, &chaos.InjectorOptions{
		RecordAll: true, MaxLog: -1, OnEvent: rec.Record, Targets: []string{placeOrder, askStatus},
	})
	d.system = newSystem(func(armed time.Time) func(context.Context, chaos.Event) { return rec.From(armed).Record })
	return d, nil
}

// run starts the services and the customers, runs what is left of the day, and
// ends everything again.
func (d *day) run(ctx context.Context) (err error) {
	left := d.left()
	if len(left) == 0 {
		return nil
	}
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
	customers.Go(func() { load(ctx, d.system.client, d.injector, d.set.seed) })
	if err := d.settle(ctx); err != nil {
		return d.interrupted(ctx, err)
	}
	return d.interrupted(ctx, d.play(ctx, left))
}

// play runs the scenarios one after the other. Each result is in the history
// before the next one begins.
func (d *day) play(ctx context.Context, left []scenario) error {
	lab := gameday.NewLab(&gameday.LabOptions{History: d.history, Injector: d.injector})
	list := &gameday.GameDay{Name: "game day"}
	for _, s := range left {
		if s.Name == pauseOrders && !canPause() {
			d.announce(s)
			d.show(result{Name: s.Name, Seed: d.set.seed, Verdict: skipped, Findings: nothing()})
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
	var err error
	d.report, err = list.Run(ctx, lab)
	if err != nil {
		return err
	}
	for _, e := range d.report.Entries {
		if ran := e.Result != nil; e.Problem != "" && (ran || ctx.Err() == nil) {
			d.problems = append(d.problems, fmt.Errorf("gameday: %s: %s", e.Name, e.Problem))
		}
	}
	return errors.Join(d.problems...)
}

// interrupted reports what a cancelled day has left.
func (d *day) interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil || len(d.left()) == 0 {
		return err
	}
	cut := fmt.Errorf("gameday: interrupted after %d finished experiments; -resume -out %s runs the others",
		len(d.results), d.set.out)
	return errors.Join(append(d.problems, cut)...)
}

// left are the scenarios asked for and not finished yet.
func (d *day) left() []scenario {
	return slices.DeleteFunc(d.scenarios(), func(s scenario) bool {
		return d.set.only != "" && d.set.only != s.Name ||
			slices.ContainsFunc(d.results, func(r result) bool { return r.Name == s.Name })
	})
}

// watch reports an experiment as it runs, and keeps its result.
func (d *day) watch(s scenario) func(context.Context, experiment.Step) {
	return func(_ context.Context, step experiment.Step) {
		switch {
		case step.Level == experiment.LevelExperiment && !step.Ended:
			d.announce(s)
		case step.Level == experiment.LevelMethod && !step.Ended:
			fmt.Fprintf(d.out, "  all is well; now the fault, for %v\n", d.set.fault)
		case step.Level == experiment.LevelExperiment:
			if err := d.finish(s, step.Journal); err != nil {
				d.problems = append(d.problems, err)
			}
		}
	}
}

func (d *day) announce(s scenario) { fmt.Fprintf(d.out, "\n%s: %s\n", s.Name, s.Description) }

// finish looks at what an experiment did, keeps it, and shows it.
func (d *day) finish(s scenario, j *experiment.Journal) error {
	if j.Status == experiment.Interrupted {
		_, err := fmt.Fprintf(d.out, "  interrupted; %s\n", undone(j))
		return err
	}
	f, err := d.find(s, j)
	if err != nil {
		return err
	}
	r := result{Name: s.Name, Seed: d.set.seed, Verdict: judge(j), Findings: f, Journal: j}
	window := timeline.Query{Start: timeline.At(j.Start.Add(-baselineBins * d.set.bin())), End: timeline.At(j.End)}
	o := plot.Options{Title: s.Name, Query: window, Rule: s.rule}
	if err := errors.Join(d.plot(s.Name+".svg", o), r.save(d.set.out)); err != nil {
		return err
	}
	d.show(r)
	return nil
}

func (d *day) show(r result) {
	d.results = append(d.results, r)
	_, _ = io.WriteString(d.out, r.text()) // the folder has the report too
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
