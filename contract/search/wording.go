package search

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// A clause is consecutive tries of one operation that meet the same kind of fault.
type clause struct {
	target string
	phrase string
	from   int // the first of the tries, from 1
	count  int
	call   int // its number in lane and target, where the tries do not tell which it is; else 0
}

// clausesOf is what a set of hits says, in the order of the calls.
func clausesOf(hits []hit) (all []clause) {
	for i := range hits {
		h := &hits[i]
		phrase := phraseOf(h.Fault, h.Waited)
		if i > 0 {
			last, before := &all[len(all)-1], &hits[i-1]
			if last.phrase == phrase && before.Op() == h.Op() && h.Occurrence == before.Occurrence+1 {
				last.count++
				continue
			}
		}
		c := clause{target: h.Target, phrase: phrase, from: h.Attempt, count: 1}
		if h.Equal || h.Nth > c.from { // an equal call that is no retry
			c.call = int(h.Ordinal) + 1
		}
		all = append(all, c)
	}
	return all
}

// tries says which tries of an operation they are; "" for the first alone. Where an agent makes
// equal calls of its own accord, it also says which call they begin with.
func (c *clause) tries() string {
	switch {
	case c.call > 0 && c.count == 1:
		return fmt.Sprintf(" on call %d", c.call)
	case c.call > 0:
		return fmt.Sprintf(" %s in a row from call %d on", timesText(c.count), c.call)
	case c.count == 1 && c.from <= 1:
		return ""
	case c.count == 1:
		return fmt.Sprintf(" on try %d", c.from)
	case c.from > 1:
		return fmt.Sprintf(" on tries %d to %d", c.from, c.from+c.count-1)
	}
	return " " + timesText(c.count) + " in a row"
}

// patternOf is a way to break without the names of its targets, and those in order.
func patternOf(hits []hit) (shape string, targets []string) {
	var b strings.Builder
	for _, c := range clausesOf(hits) {
		i := slices.Index(targets, c.target)
		if i < 0 {
			i, targets = len(targets), append(targets, c.target)
		}
		fmt.Fprintf(&b, "%d %s%s; ", i, c.phrase, c.tries())
	}
	return b.String(), targets
}

// maxClauses bounds a sentence.
const maxClauses = 6

// sentenceOf says which faults break it: at each place of the pattern, at any of its targets.
func sentenceOf(hits []hit, places []string) string {
	_, own := patternOf(hits)
	var parts []string
	for _, c := range clausesOf(hits) {
		parts = append(parts, places[slices.Index(own, c.target)]+" "+c.phrase+c.tries())
	}
	if more := len(parts) - maxClauses; more > 0 { // of a search that was cut
		parts = append(parts[:maxClauses], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", then ")
}

// orList joins names: "a, b or c".
func orList(names []string) string {
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return names[0]
}

// phraseOf says what a call does under a fault of a kind that made it wait so long.
func phraseOf(kind string, waited time.Duration) string {
	switch kind {
	case "error":
		return "fails"
	case "timeout", "lost_request":
		if waited > 0 {
			return fmt.Sprintf("waits %v and times out before the work", waited)
		}
		return "times out before the work"
	case "hang":
		return "hangs"
	case "lost_reply":
		if waited > 0 {
			return fmt.Sprintf("does its work and its reply is lost after %v", waited)
		}
		return "does its work and its reply is lost"
	case "duplicate", "delivered_twice":
		return "is executed twice"
	case "latency":
		return fmt.Sprintf("takes %v longer", waited)
	case "empty_result":
		return "returns an empty result"
	case "malformed_result":
		return "returns what is not JSON"
	case "panic":
		return "panics"
	}
	return "meets " + kind
}

// factsOf are the facts that the events of a run show about the calls with faults.
func factsOf(s *runDigest, hits []hit) (facts []string) {
	targets := map[string]bool{}
	for i := range hits {
		targets[hits[i].Target] = true
	}
	if n := sameTries(hits); n > 0 {
		facts = append(facts, "the agent tries "+timesText(n))
	}
	for _, tool := range s.Again {
		if targets[tool] {
			facts = append(facts, tool+" is called again with equal arguments after its work was done")
		}
	}
	for _, k := range s.Keyless {
		if targets[k.Tool] && k.Without > 0 {
			facts = append(facts,
				fmt.Sprintf("%d of %d calls of %s without the idempotency key that the tool declares (%s)",
					k.Without, k.Of, k.Tool, k.Pointer))
		}
	}
	return facts
}

// sameTries is how often the one operation of all hits was called; 0: they are of
// several operations or prompts, or nobody saw a failure.
func sameTries(hits []hit) int {
	for i := range hits {
		if hits[i].Op() != hits[0].Op() || hits[i].Prompt != hits[0].Prompt || !hits[i].Failed {
			return 0
		}
	}
	if len(hits) == 0 {
		return 0
	}
	return hits[0].Tries
}

func timesText(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// alternatives joins what held: "fails, or times out before the work".
func alternatives(all []string) string { return strings.Join(all, ", or ") }

func kindOf(f chaos.Fault, otherwise string) string {
	if d, ok := f.(chaos.Described); ok {
		if kind := d.Describe().Kind; kind != "" {
			return kind
		}
	}
	return otherwise
}
