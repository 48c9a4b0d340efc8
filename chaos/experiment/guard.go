package experiment

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// A Guard is a stop condition. It is polled while the method runs, first at its
// start. When its check returns an error, the method ends and the run is aborted. A
// check that panics or does not end in time aborts the run too. Package
// chaos/experiment/probe has the ready-made ones.
type Guard struct {
	_     struct{}
	Name  string // required
	Check func(ctx context.Context) error
	// Every is the time between two checks. 0: 1 s.
	Every time.Duration
}

// A signal is a channel that is closed once. The zero value is not usable.
type signal struct {
	once  *sync.Once
	given chan struct{}
}

func newSignal() signal { return signal{new(sync.Once), make(chan struct{})} }

func (s signal) fire() { s.once.Do(func() { close(s.given) }) }

// watch starts the guards, which are polled during the method. They wait until the
// method's first activity has begun: otherwise the scheduler would decide whether a
// guard can prevent it. The returned function ends them and waits for their end.
func (r *run) watch(ctx context.Context, cancel context.CancelCauseFunc) (over func()) {
	var watchers sync.WaitGroup
	guarded, stopGuards := context.WithCancel(ctx)
	for _, g := range r.exp.Guards {
		watchers.Go(func() {
			<-r.underWay.given
			r.guard(guarded, cancel, g)
		})
	}
	return func() {
		stopGuards()
		watchers.Wait()
	}
}

func (r *run) guard(ctx context.Context, cancel context.CancelCauseFunc, g Guard) {
	t := time.NewTicker(cmp.Or(g.Every, time.Second))
	defer t.Stop()
	for {
		_, err, _ := protect(ctx, r.opts.Timeout, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, g.Check(ctx)
		}, nil)
		if ctx.Err() != nil { // the method is over
			return
		}
		if err != nil {
			cancel(&stop{Aborted, fmt.Errorf("guard %q: %w", g.Name, err)})
			return
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}
