package remote

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// maxTargets bounds the injection points that one answer names.
const maxTargets = 100

// Reach returns which of the known injection points a target matches, and what to
// mind about it. It names 100 points at most.
func Reach(target string, known []string) (matched []string, note string) {
	matched = matching(target, known)
	switch n := len(matched); {
	case n > maxTargets:
		return matched[:maxTargets], fmt.Sprintf("It matches %d injection points; the first %d are named.", n,
			maxTargets)
	case n == 0 && len(known) == 0:
		note = "No injection point is known yet: none was declared and none was called. The fault is injected once one that matches is called."
	case n == 0:
		shown := known[:min(len(known), 20)]
		note = fmt.Sprintf("%q matches none of the %d known injection points, so it is injected nowhere now. Known: %s.",
			target, len(known), strings.Join(shown, ", "))
	}
	return matched, note
}

// matching returns the names that a glob matches; none if it is no glob.
func matching(pattern string, names []string) []string {
	g, err := glob.Compile(pattern)
	return slices.DeleteFunc(append([]string{}, names...),
		func(name string) bool { return err != nil || !g.Match(name) })
}

// Until returns how long a rule may last: for life, and not beyond a moment. A life of 0 is
// endless, and so is the zero moment.
func Until(life time.Duration, expires time.Time) time.Duration {
	if expires.IsZero() {
		return life
	}
	left := max(time.Until(expires), 1)
	return min(cmp.Or(life, left), left)
}
