package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

const (
	// The service level: so many calls of customers are good, within so long.
	goodShare  = 0.9
	goodWithin = 400 * time.Millisecond
	// judged is the time before a probe whose calls it looks at, and quiet the
	// longer one after a rollback, so that only calls made since are judged.
	judged = 600 * time.Millisecond
	quiet  = time.Second
	// probeTimeout is longer than the gateway takes to say that it has no answer.
	probeTimeout = 3 * time.Second
	// minBins is more than one: a machine may well stall for a bin.
	minBins = 2
)

// The experiments.
const (
	killStock     = "kill-stock"
	gatewayCutOff = "gateway-cut-off"
)

func (d *day) killStock() *experiment.Experiment {
	kill := func(context.Context) (output any, undo experiment.Undo, err error) {
		return nil, d.system.restart(stock), d.system.kill(stock)
	}
	return d.experiment(killStock, "The stock service is killed, and started again by the rollback.",
		experiment.Activity{Name: "kill stock", Start: kill, PauseAfter: d.fault})
}

func (d *day) cutOffGateway() *experiment.Experiment {
	cut := chaos.Rule{Name: "partition", Target: gateway + ".*", Group: gateway, Fault: fault.Partition()}
	return d.experiment(gatewayCutOff, "The customers are cut off from all of the gateway at once, until the rollback.",
		experiment.Activity{Name: "cut customers off", Start: experiment.Arm(d.injector, 0, cut), PauseAfter: d.fault})
}

// experiment is what all experiments have in common: steady state and limits.
func (d *day) experiment(name, description string, method ...experiment.Activity) *experiment.Experiment {
	return &experiment.Experiment{
		Name: name, Description: description,
		Hypothesis: d.steadyState(), Method: method, Quiet: quiet,
		MaxDuration: 2*d.fault + 5*time.Second,
	}
}

func (d *day) steadyState() *experiment.Hypothesis {
	h := &experiment.Hypothesis{Name: "customers are served", Probes: []experiment.Activity{
		{Name: "an order goes through", Run: d.system.status(placeOrder), Tolerance: experiment.Equal(200)},
		{Name: "stock accepts connections", Run: d.system.accepts(stock)},
		{Name: fmt.Sprintf("%.0f %% of calls good within %v", 100*goodShare, goodWithin),
			Run: experiment.Call(d.served), Tolerance: experiment.Range(goodShare, 1)},
	}}
	for i := range h.Probes {
		h.Probes[i].Timeout = probeTimeout
	}
	return h
}

// served is the share of the customers' latest calls that were good; 0 without any.
func (d *day) served(context.Context) (share float64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls, good := 0, 0
	for _, c := range slices.Backward(d.ended) {
		if time.Since(c.at) > judged {
			break
		}
		calls++
		if !c.failed && c.took <= goodWithin {
			good++
		}
	}
	return float64(good) / float64(max(calls, 1)), nil
}

// endedCall is a call of a customer.
type endedCall struct {
	at     time.Time // when it ended
	took   time.Duration
	failed bool
}

// record notes a call of a customer.
func (d *day) record(ctx context.Context, e chaos.Event) {
	d.recorder.Record(ctx, e)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, endedCall{at: time.Now(), took: e.End - e.Start, failed: e.Outcome != chaos.OutcomeOK})
}

var errNeverSteady = errors.New("gameday: the services did not reach their steady state")

// settle waits until all is well.
func (d *day) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 15*time.Second, errNeverSteady)
	defer cancel()
	check := &experiment.Experiment{Name: "settle", Hypothesis: d.steadyState()}
	t := time.NewTicker(d.fault / 10)
	defer t.Stop()
	for {
		if j, err := experiment.Run(ctx, check, nil); err != nil || j.ExitCode() == 0 {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
