package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// experiments break the live desk, each by one rule that its rollback takes away.
func (s *shop) experiments(in *chaos.Injector) []*experiment.Experiment {
	one := func(name string, rule chaos.Rule) *experiment.Experiment {
		rule.Name = name
		return &experiment.Experiment{
			Name: name,
			Hypothesis: &experiment.Hypothesis{Name: "customers get an answer", Probes: []experiment.Activity{{
				Name: "the answer says where the order is",
				Run:  func(ctx context.Context) (any, error) { return s.ask(chaos.WithLane(ctx, "probe")) == nil, nil },
			}}},
			Method: []experiment.Activity{{Name: "arm " + name, Start: experiment.Arm(in, 0, rule)}},
		}
	}
	return []*experiment.Experiment{
		one("lookups are slow", chaos.Rule{Target: "orders.*", Fault: fault.Delay(100 * time.Millisecond)}),
		one("lookups fail twice",
			chaos.Rule{Target: "orders.*", When: when.First(2), Fault: fault.Fail(fault.ErrUnavailable)}),
		one("the order database is gone", chaos.Rule{Target: "orders.*", Fault: fault.Partition()}),
	}
}

// Of a morning's work, as run_scenario repeats it.
const (
	customers = 40
	clerks    = 4
	patience  = 20 * time.Millisecond
)

// morning is the workload: forty customers, four clerks, in a shop of its own.
// A customer who gets no answer asks once more.
func morning(ctx context.Context, c *trace.Conditions) error {
	world, err := orderdesk.NewWorld(orderdesk.Robust())(ctx)
	if err != nil {
		return err
	}
	s := &shop{world: world, tools: chaos.WrapRegistry(world.Tools, nil)}
	pause := c.RetryDelay(patience)
	var desks errgroup.Group
	desks.SetLimit(c.Limit(clerks))
	var unanswered atomic.Int64
	for n := range customers {
		desks.Go(func() error {
			lane := chaos.WithLane(ctx, fmt.Sprintf("customers/%d", n))
			if s.ask(lane) == nil {
				return nil
			}
			if time.Sleep(pause); s.ask(lane) != nil {
				unanswered.Add(1)
			}
			return nil
		})
	}
	_ = desks.Wait()
	if unanswered.Load() == customers {
		err = errors.New("nobody got an answer")
	}
	return errors.Join(err, ctx.Err(), world.Close())
}
