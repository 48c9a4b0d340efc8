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
	"github.com/nats-io/nats.go/jetstream"

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
	head, err := q.join(ctx)
	if err == nil {
		err = units.Check(head)
	}
	if err != nil {
		return ended(err)
	}
	limit := own.unitLimit(m)
	var all sync.WaitGroup
	problems := make([]error, cmp.Or(own.Run.Workers, runtime.GOMAXPROCS(0)))
	for i := range problems {
		all.Go(func() { problems[i] = q.work(ctx, units, head, limit) })
	}
	all.Wait()
	return ended(errors.Join(problems...))
}

// ended is the error of a worker whose run was deleted: none, because nothing is left to do.
func ended(err error) error {
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// join waits for the run, and returns the head of its file.
func (q *queue) join(ctx context.Context) ([]byte, error) {
	return again(ctx, q, func(ctx context.Context) ([]byte, error) {
		if err := q.open(ctx); err != nil {
			q.bucket = nil // so that a run which never was is waited for
			return nil, fmt.Errorf("fleet: run %s has not begun: %w", q.id, err)
		}
		e, err := q.bucket.Get(ctx, headKey)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil, fmt.Errorf("fleet: run %s has not begun", q.id)
		} else if err != nil {
			return nil, err
		}
		return e.Value(), nil
	})
}

// work claims, runs and finishes units, one after the other.
func (q *queue) work(ctx context.Context, units *contract.Units, head []byte, limit time.Duration) error {
	same := func(a, b []byte) bool { return sameUnit(head, a, b) }
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
			_ = q.finish(last, c, nil, same)
			cancel()
		case errors.Is(err, context.DeadlineExceeded): // its program hangs: the next worker has another
		case err != nil:
			return err
		default:
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
