package chaos

// SiteCount is how many pairs of lane and target an injector keeps counts of.
func SiteCount(in *Injector) (n int) {
	for range in.points.all() {
		n++
	}
	return n
}

// Pending is how many reservations of limits and cool-downs are not settled.
func Pending(in *Injector) (n uint64) {
	for _, a := range in.rules {
		if a.quota != nil {
			n += a.quota.pending
		}
	}
	return n
}

// SafeguardsPending is how many faults the safeguards count as acting.
func SafeguardsPending(in *Injector) uint64 { return in.safeguards.quota.pending }

// KeyCount is how many keys, failing keys and groups an injector remembers.
func KeyCount(in *Injector) (keys, failing, groups int) {
	for s := range in.points.all() {
		keys += len(s.keyed)
		failing += len(s.fails.other)
	}
	return keys, failing, len(in.groups)
}

// RequestedCount is how many names an injector counts the requests for.
func RequestedCount(in *Injector) int { return in.requested.n }
