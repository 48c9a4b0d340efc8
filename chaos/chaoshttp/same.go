package chaoshttp

// SameAs implements [chaos.Comparer]: the same request is the same, and of
// another nobody knows without reading its body.
func (r Request) SameAs(other any) (same, known bool) {
	o, ok := other.(Request)
	same = ok && r.Request == o.Request
	return same, same
}

// SameAs implements [chaos.Comparer]: the same response is the same, and of
// another nobody knows without reading its body.
func (r Response) SameAs(other any) (same, known bool) {
	o, ok := other.(Response)
	same = ok && r.Response == o.Response
	return same, same
}
