package chaoshttp

// SameAs implements [chaos.Comparer]. A request is known to equal only itself:
// to compare it with others, their bodies would have to be read.
func (r Request) SameAs(other any) (same, known bool) {
	o, ok := other.(Request)
	same = ok && r.Request == o.Request
	return same, same
}

// SameAs implements [chaos.Comparer]. A response is known to equal only itself:
// to compare it with others, their bodies would have to be read.
func (r Response) SameAs(other any) (same, known bool) {
	o, ok := other.(Response)
	same = ok && r.Response == o.Response
	return same, same
}
