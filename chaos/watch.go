package chaos

import "slices"

// Watch has f called with every event from now on, as [InjectorOptions.OnEvent]
// is and after it: in the caller's goroutine and before the call returns, so f
// must be fast and safe for concurrent use. stop ends that; a call of f may then
// still be under way.
func (in *Injector) Watch(f func(Event)) (stop func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	w := &f
	in.setWatchers(func(old []*func(Event)) []*func(Event) { return append(old, w) })
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.setWatchers(func(old []*func(Event)) []*func(Event) {
			return slices.DeleteFunc(old, func(other *func(Event)) bool { return other == w })
		})
	}
}

// setWatchers replaces the list, which calls may be reading; in.mu is held.
func (in *Injector) setWatchers(by func([]*func(Event)) []*func(Event)) {
	var list []*func(Event)
	if old := in.watchers.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if list = by(list); len(list) == 0 {
		in.watchers.Store(nil)
		return
	}
	in.watchers.Store(&list)
}

// tell hands an event to whoever listens.
func (in *Injector) tell(r *record) {
	watchers := in.watchers.Load()
	if in.opts.OnEvent == nil && watchers == nil {
		return
	}
	e := r.event()
	if in.opts.OnEvent != nil {
		in.opts.OnEvent(e)
	}
	if watchers != nil {
		for _, f := range *watchers {
			(*f)(e)
		}
	}
}
