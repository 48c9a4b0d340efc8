package chaos

// call is the number of a call that began with one of its own: those are even.
func (r *record) call() uint64 {
	if r.begun%2 != 0 {
		return 0
	}
	return r.begun
}

// begins tells whoever listens that a call has begun.
func (in *Injector) begins(r *record) {
	if in.opts.OnBegin == nil {
		return
	}
	e := r.event()
	e.End, e.Outcome, e.Effect = 0, "", EffectUnknown
	in.opts.OnBegin(e)
}
