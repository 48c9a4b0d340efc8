package incident

// breaker turns a run of failures into one announcement. It is a circuit
// breaker: closed at first, open after a number of failures in a row, closed
// again by a success. Not safe for concurrent use.
type breaker struct {
	limit int // failures in a row that open it
	row   int
}

// news says what to announce after an outcome.
type news int

const (
	announce news = iota // as usual
	opened               // the failure that reaches the limit
	silent               // a further failure
	closed               // the first success after that
)

func (b *breaker) see(ok bool) news {
	if ok {
		was := b.row
		b.row = 0
		if was >= b.limit {
			return closed
		}
		return announce
	}
	b.row++
	switch {
	case b.row < b.limit:
		return announce
	case b.row == b.limit:
		return opened
	}
	return silent
}
