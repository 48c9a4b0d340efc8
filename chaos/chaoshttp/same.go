package chaoshttp

// SameAs implements [chaos.Comparer]. Only the very same request is known to be
// the same: to compare others, their bodies would have to be read.
func (r Request) SameAs(other any) (same, known bool) {
	o, ok := other.(Request)
	same = ok && r.Request == o.Request
	return same, same
}

// SameAs implements [chaos.Comparer]. Only the very same response is known to be
// the same: to compare others, their bodies would have to be read.
func (r Response) SameAs(other any) (same, known bool) {
	o, ok := other.(Response)
	same = ok && r.Response == o.Response
	return same, same
}
