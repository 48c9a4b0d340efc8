package chaos

import (
	"context"
	"slices"
)

// Watch calls f with every event from now on, as [InjectorOptions].OnEvent is called
// and after it: in the caller's goroutine and before the call returns. f must be
// fast and safe for concurrent use. stop ends that, but does not wait for a call of f
// that is under way. Watch and stop are safe for concurrent use.
func (in *Injector) Watch(f func(context.Context, Event)) (stop func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	w := &f
	in.setWatchers(func(old []*func(context.Context, Event)) []*func(context.Context, Event) { return append(old, w) })
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.setWatchers(func(old []*func(context.Context, Event)) []*func(context.Context, Event) {
			return slices.DeleteFunc(old, func(other *func(context.Context, Event)) bool { return other == w })
		})
	}
}

// setWatchers replaces the list, which calls may be reading; in.mu is held.
func (in *Injector) setWatchers(by func([]*func(context.Context, Event)) []*func(context.Context, Event)) {
	var list []*func(context.Context, Event)
	if old := in.watchers.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if list = by(list); len(list) == 0 {
		in.watchers.Store(nil)
		return
	}
	in.watchers.Store(&list)
}

// notify passes an event to OnEvent and to the watchers.
func (in *Injector) notify(ctx context.Context, r *record) {
	watchers := in.watchers.Load()
	if in.opts.OnEvent == nil && watchers == nil {
		return
	}
	e := r.event()
	ctx = orBackground(ctx)
	if in.opts.OnEvent != nil {
		in.opts.OnEvent(ctx, e)
	}
	if watchers != nil {
		for _, f := range *watchers {
			(*f)(ctx, e)
		}
	}
}

// notifyBegin reports to OnBegin that a call has begun.
func (in *Injector) notifyBegin(ctx context.Context, r *record) {
	if in.opts.OnBegin == nil {
		return
	}
	e := r.event()
	e.End, e.Outcome, e.Effect = 0, "", EffectUnknown
	in.opts.OnBegin(orBackground(ctx), e)
}
