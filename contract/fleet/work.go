package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/shakedown-go/shakedown/contract"
)

// Work runs units of a run until it has all results or was deleted, and then returns nil. It waits
// for a run that has not begun. When ctx ends, it gives its units back and returns the error of ctx.
//
// Errors: a [*contract.FieldError] for the options and for a matrix, library or build that is not
// that of the run, before any unit is run; those of [contract.Matrix.Units]; and those of the
// connection that waiting does not mend, such as one that was closed.
func Work(ctx context.Context, nc *nats.Conn, m *contract.Matrix, o *Options) error {
	own, err := o.check(nc, m, false)
	if err != nil {
		return err
	}
	units, err := m.Units(ctx, own.Run)
	if err != nil {
		return err
	}
	defer units.Close()
	q, err := newQueue(nc, &own)
	if err != nil {
		return err
	}
	head, err := again(ctx, q, q.open)
	if err == nil {
		err = units.Check(head)
	}
	if err == nil {
		limit := own.unitLimit(m)
		var all sync.WaitGroup
		problems := make([]error, cmp.Or(own.Run.Workers, runtime.GOMAXPROCS(0)))
		for i := range problems {
			all.Go(func() { problems[i] = q.work(ctx, units, limit) })
		}
		all.Wait()
		err = errors.Join(problems...)
	}
	if errors.Is(err, errGone) { // nothing is left to do
		return nil
	}
	return err
}

// unitLimit is Limit, or what the cells of any unit may take, twice.
func (o *Options) unitLimit(m *contract.Matrix) time.Duration {
	prompts := len(m.Prompts)
	for i := range m.Scenarios {
		prompts = max(prompts, len(m.Scenarios[i].Prompts))
	}
	for i := range m.Invariants {
		prompts = max(prompts, len(m.Invariants[i].Probes))
	}
	cell := cmp.Or(o.Run.Watchdog, 5*time.Minute+time.Duration(prompts)*m.Timeout)
	return cmp.Or(o.Limit, time.Minute+2*time.Duration(len(m.Invariants))*cell)
}

// work claims, runs and finishes units, one after the other.
func (q *queue) work(ctx context.Context, units *contract.Units, limit time.Duration) error {
	for ctx.Err() == nil {
		c, err := q.claim(ctx)
		if err != nil {
			return err
		}
		if c == nil {
			if end, err := q.get(ctx, endKey); end != nil || err != nil {
				return err
			}
			continue
		}
		line, err := q.run(ctx, units, c, limit)
		switch {
		case ctx.Err() != nil: // no other is there to give the unit back
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.ackWait)
			_ = q.giveBack(last, c)
			cancel()
		case errors.Is(err, context.DeadlineExceeded): // its program hangs: the next worker has another
		case err != nil:
			return fmt.Errorf("fleet: unit %s: %w", c.unit, err)
		default:
			same := func(other []byte) bool { return units.Same(c.unit, line, other) }
			if err := q.finish(ctx, c, line, same); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// run runs a unit and beats as long as it may last.
func (q *queue) run(ctx context.Context, units *contract.Units, c *claim, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	var beats sync.WaitGroup
	defer beats.Wait()
	defer cancel()
	beats.Go(func() {
		tick := time.NewTicker(q.ackWait / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = q.beat(ctx, c) // the next one is soon
			}
		}
	})
	return units.Run(ctx, c.unit)
}
