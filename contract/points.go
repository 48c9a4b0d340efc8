package contract

import (
	"fmt"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// pointLearner finds the rules whose target is the name of nothing. A rule whose target
// matches neither a tool nor a declared point may still match a point that the agent
// reaches, and perhaps only under faults.
type pointLearner struct {
	mu      sync.Mutex
	unknown []unknownTarget
	names   []string // of points that were met, the first maxNames of them
}

// unknownTarget is a rule whose target matched no name so far.
type unknownTarget struct {
	key    ruleKey
	target *glob.Glob
}

// maxNames bounds the names that are kept to suggest one.
const maxNames = 256

// expect adds the rules of a scenario whose targets match none of the known names.
func (l *pointLearner) expect(s *compiledScenario, known []string) {
	for _, r := range s.plan.Rules() {
		g, err := glob.Compile(r.Target)
		if err == nil && !slices.ContainsFunc(known, g.Match) {
			l.unknown = append(l.unknown, unknownTarget{ruleKey{s.Name, r.Name}, g})
		}
	}
}

// meet takes the names of the points that a run called.
func (l *pointLearner) meet(observations []*Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unknown) == 0 {
		return
	}
	seen := make(map[string]bool)
	for _, o := range observations {
		for i := range o.Events {
			for _, name := range []string{o.Events[i].Target, o.Events[i].Alias} {
				if name != "" && !seen[name] {
					seen[name] = true
					l.meetName(name)
				}
			}
		}
	}
}

func (l *pointLearner) meetName(name string) {
	l.unknown = slices.DeleteFunc(l.unknown, func(u unknownTarget) bool { return u.target.Match(name) })
	if len(l.names) < maxNames && !slices.Contains(l.names, name) {
		l.names = append(l.names, name)
	}
}

// unmet returns a sentence for each rule whose target was not met.
func (l *pointLearner) unmet(known []string) map[ruleKey]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.Concat(known, l.names)
	sentences := make(map[ruleKey]string, len(l.unknown))
	for _, u := range l.unknown {
		text := fmt.Sprintf("Rule %s of scenario %s: the target %q matches no tool, no declared point and no point that any run called",
			u.key.rule, u.key.scenario, u.target)
		if name := nearest(u.target.String(), names); name != "" {
			text += fmt.Sprintf("; the nearest name is %q", name)
		}
		sentences[u.key] = text + "."
	}
	return sentences
}

// nearest returns the name with the fewest edits of one character to text, of equal
// ones the first in order; "" if even that needs more than a third of the text.
func nearest(text string, names []string) (name string) {
	least := max(len([]rune(text))/3, 1) + 1
	for _, candidate := range slices.Sorted(slices.Values(names)) {
		if n := edits([]rune(text), []rune(candidate)); n < least {
			name, least = candidate, n
		}
	}
	return name
}

// edits is the number of characters to insert, remove, replace or swap with the next
// one to make b of a.
func edits(a, b []rune) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range row {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			same := 1
			if a[i] == b[j] {
				same = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+same)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
