package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// day is a game day: the services, their customers, and who watches them.
type day struct {
	fault    time.Duration // how long a fault lasts
	out      io.Writer
	recorder *trace.Recorder
	injector *chaos.Injector
	system   *system
	results  []result

	mu    sync.Mutex
	ended []endedCall // the newest last
}

func newDay(fault time.Duration, stdout io.Writer) (*day, error) {
	rec, err := trace.NewRecorder(&trace.Options{
		Run:  timeline.RunOptions{BinSize: fault / 10},
		Type: func(chaos.Event) timeline.NodeType { return timeline.NodeHTTP },
	})
	if err != nil {
		return nil, err
	}
	d := &day{fault: fault, out: stdout, recorder: rec}
	d.injector = chaos.NewInjector(seed, &chaos.InjectorOptions{
		RecordAll: true, MaxLog: -1, OnEvent: d.record, Targets: []string{placeOrder, askStatus},
	})
	d.system = newSystem(rec.From(time.Now()).Record)
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
		fmt.Fprintf(d.out, "%-8s at %s\n", name, d.system.client.addr(name))
	}
	customers.Go(func() { load(ctx, d.system.client, d.injector) })
	if err := d.settle(ctx); err != nil {
		return err
	}
	for _, e := range []*experiment.Experiment{d.killStock(), d.cutOffGateway()} {
		if err := d.play(ctx, e); err != nil {
			return err
		}
	}
	return d.sum()
}

// play runs an experiment and looks at what it did.
func (d *day) play(ctx context.Context, e *experiment.Experiment) error {
	fmt.Fprintf(d.out, "\n%s: %s\n", e.Name, e.Description)
	j, err := experiment.Run(ctx, e, nil)
	if err != nil {
		return err
	}
	if j.Status == experiment.Interrupted {
		fmt.Fprintf(d.out, "  interrupted; %d rollbacks\n", len(j.Rollbacks))
		return fmt.Errorf("gameday: interrupted after %d finished experiments", len(d.results))
	}
	f, err := d.find(j)
	if err != nil {
		return err
	}
	r := result{Name: e.Name, Findings: f, Journal: j}
	d.results = append(d.results, r)
	_, err = io.WriteString(d.out, r.text())
	return err
}

// sum shows how each experiment ended.
func (d *day) sum() error {
	t := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\nResults\n")
	for _, x := range d.results {
		fmt.Fprintf(t, "  %s\t%s\n", x.Name, verdict(x.Journal))
	}
	return t.Flush()
}

// status reports whether all that ran has recovered.
func (d *day) status() int {
	for _, r := range d.results {
		if !recovered(r.Journal) {
			return exitNotRecovered
		}
	}
	return exitRecovered
}
