package search

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?…?|` + "`[^`]*`…?|“[^”]*”…?")
	listed = regexp.MustCompile(`(“”|@)(?:(?:,? and |,? or |, |; )(?:“”|@))+`)
	// a number, its unit, and the rest of a duration such as 1h2m
	numeric = regexp.MustCompile(`[+-]?\d[\d.,:_]*(?:e[+-]?\d+)?` +
		`(?:\s?(?:ns|µs|ms|s|m|h|%|[KMG]i?B|B|bytes?|times?|calls?)\b)?[\dhms.µ]*`)
)

// A shaper takes out of a reason what differs from cell to cell: quoted texts, names of
// injection points, how many of either a list has, and numbers with their units. What is left
// is the shape.
type shaper struct {
	targets *strings.Replacer

	mu    sync.Mutex
	known map[string]string // bounded: a reason may be different each time
}

// maxShapes bounds the reasons whose shapes are remembered.
const maxShapes = 10_000

// newShaper knows the names of injection points.
func newShaper(targets map[string]bool) *shaper {
	names := slices.SortedFunc(maps.Keys(targets), func(a, b string) int { // the longest first
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	var pairs []string
	for _, name := range names {
		if len(name) > 1 {
			pairs = append(pairs, name, "@")
		}
	}
	return &shaper{targets: strings.NewReplacer(pairs...), known: map[string]string{}}
}

// shapeOf is the shape of a reason.
func (s *shaper) shapeOf(why string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	shape, ok := s.known[why]
	if !ok {
		shape = quoted.ReplaceAllString(why, "“”")
		shape = listed.ReplaceAllString(s.targets.Replace(shape), "$1")
		shape = numeric.ReplaceAllString(shape, "#")
		if len(s.known) < maxShapes {
			s.known[why] = shape
		}
	}
	return shape
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
