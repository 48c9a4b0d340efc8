package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// A kind is the groups that are one defect, as they share keys.
type kind struct {
	groups []*group
	keys   []string
}

// defects merges the groups: those of one pattern at the same targets are one defect, and of the
// patterns with one target those that break one invariant alike. Those with several targets are
// not: two causes in one line would be read as one, and their targets as interchangeable.
func (e *explainer) defects() []contract.Defect {
	var kinds []*kind
	var rest []contract.Defect
	for _, g := range e.groups {
		if g.Smallest == nil {
			rest = append(rest, e.unexplained(g))
			continue
		}
		shape, targets := patternOf(g.Hits)
		shape = fmt.Sprintf("%q %v %v", shape, g.Sure != nil, g.Cut)
		if len(g.Hits) == 0 {
			shape += e.withoutCalls(g)
		}
		keys := []string{fmt.Sprintf("%s at %q", shape, targets)}
		if len(targets) <= 1 {
			keys = append(keys, fmt.Sprintf("%s %q %q", shape, g.Invariant, g.Reason()))
		}
		var own *kind
		kinds = slices.DeleteFunc(kinds, func(k *kind) bool {
			if !slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(k.keys, key) }) {
				return false
			}
			if own == nil {
				own = k
				return false
			}
			own.groups, own.keys = append(own.groups, k.groups...), append(own.keys, k.keys...)
			return true
		})
		if own == nil {
			own = &kind{}
			kinds = append(kinds, own)
		}
		own.groups, own.keys = append(own.groups, g), append(own.keys, keys...)
	}
	defects := make([]contract.Defect, 0, len(kinds)+len(rest))
	for _, k := range kinds {
		defects = append(defects, e.defect(k))
	}
	slices.SortStableFunc(defects, func(a, b contract.Defect) int { return cmp.Compare(b.Severity, a.Severity) })
	return append(defects, rest...)
}

// withoutFault is the sentence of what breaks in a calm run.
const withoutFault = "without any fault"

// besides says what is broken in a group's scenario besides its rules.
func (e *explainer) besides(g *group) string {
	i := slices.IndexFunc(e.matrix.Scenarios, func(s contract.Scenario) bool { return s.Name == g.scenario })
	if i >= 0 && (e.matrix.Scenarios[i].Layer != "" || e.matrix.Scenarios[i].Rewrite != nil) {
		return "without any rule, in scenario " + g.scenario
	}
	return withoutFault
}

// unexplained is the entry of cells that did not break again, or were not searched.
func (e *explainer) unexplained(g *group) contract.Defect {
	d := contract.Defect{Severity: g.severity, Cut: g.Cut, Breaks: []contract.Break{e.breakOf(g)}}
	if g.Cut {
		d.Sentence = "not searched: the budget was used up"
		return d
	}
	d.Sentence = "did not break again"
	d.Difference = e.secrets.Text(cmp.Or(g.Source.Differ, g.instead, g.Instead()))
	return d
}

func (e *explainer) breakOf(g *group) contract.Break {
	return contract.Break{Invariant: g.Invariant, Severity: g.severity, Why: e.secrets.Text(g.why), Cells: g.cells}
}

// A breach is what a defect breaks at its targets: an invariant.
type breach struct {
	invariant string
	targets   []string
	groups    []*group
}

func (p *breach) targetText() string { return strings.Join(p.targets, ", ") }

func (e *explainer) defect(k *kind) contract.Defect {
	slices.SortStableFunc(k.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.severity, a.severity),
			cmp.Compare(slices.Index(e.groups, a), slices.Index(e.groups, b)))
	})
	breaches := breachesOf(k)
	main := mainTargets(breaches)
	inMain := func(p *breach) bool { return slices.Contains(main, p.targetText()) }
	g := breaches[slices.IndexFunc(breaches, inMain)].groups[0]
	d := contract.Defect{Severity: g.severity, Rerun: g.first.Rerun, Cut: g.Cut, Sentence: e.sentence(g, main)}
	d.Deliveries = deliveriesOf(g.Hits)
	facts := slices.Clone(g.Facts) // those that all groups at the main targets share
	counted := 0
	for _, p := range breaches {
		for _, other := range p.groups {
			facts = slices.DeleteFunc(facts, func(f string) bool {
				return inMain(p) && !slices.Contains(other.Facts, f)
			})
			counted += len(other.cells)
		}
	}
	for _, f := range facts {
		d.Facts = append(d.Facts, e.secrets.Text(f))
	}
	for _, p := range breaches {
		b := e.breakOf(p.groups[0])
		b.Cells = nil
		b.ID = e.keepBreach(p, &d)
		for _, g := range p.groups {
			b.Cells = append(b.Cells, g.cells...)
		}
		if len(main) > 1 || !inMain(p) {
			b.At = p.targets
		}
		d.Severity = max(d.Severity, b.Severity)
		d.Breaks = append(d.Breaks, b)
	}
	if counted == 0 && e.report != nil {
		d.Facts = append(d.Facts, "its cells met the faults of another defect too, and are counted there")
	}
	if c := g.Sure; c != nil {
		d.Broke, d.Runs, d.Rate, d.Unconfirmed = c.Broke, c.Runs, c.Rate(), !c.OK
		d.Difference = e.secrets.Text(g.Source.Differ)
	}
	return d
}

// sentence says what breaks it: the faults of a group, at any of the targets if the pattern has
// one place.
func (e *explainer) sentence(g *group, main []string) string {
	if len(g.Hits) == 0 {
		return e.secrets.Text(e.withoutCalls(g))
	}
	_, places := patternOf(g.Hits)
	if len(places) == 1 {
		places = []string{orList(main)}
	}
	return e.secrets.Text(sentenceOf(g.Hits, places))
}

// keepBreach keeps a defect for what it breaks at its targets, and returns the id. Why it could
// not is a fact of the defect.
func (e *explainer) keepBreach(p *breach, d *contract.Defect) string {
	g := p.groups[0]
	atRate := slices.ContainsFunc(e.matrix.Invariants, func(i contract.Invariant) bool {
		return i.Name == g.Invariant && i.IsRate() // it may break now and then
	})
	if atRate || g.Cut || g.once || g.Sure != nil && !g.Sure.OK { // it may not be the smallest, or may not break
		return ""
	}
	id, err := e.keep(g, e.sentence(g, []string{p.targetText()}))
	if err != nil {
		fact := "not kept: " + strings.Join(strings.Fields(e.secrets.Text(err.Error())), " ")
		if !slices.Contains(d.Facts, fact) {
			d.Facts = append(d.Facts, fact)
		}
		return ""
	}
	return id
}

// withoutCalls is the sentence of a group in whose smallest run no fault was delivered: none was
// needed, or what its rules did was no delivery.
func (e *explainer) withoutCalls(g *group) string {
	if len(g.Set) == 0 {
		return e.besides(g)
	}
	var names []string
	for _, i := range g.Set {
		names = append(names, g.Source.Parts[i].Rule)
	}
	return "under the rules " + strings.Join(names, ", ")
}

// breachesOf are what the groups of a kind break, by invariant and targets.
func breachesOf(k *kind) (all []*breach) {
	for _, g := range k.groups {
		_, targets := patternOf(g.Hits)
		i := slices.IndexFunc(all, func(p *breach) bool {
			return p.invariant == g.Invariant && slices.Equal(p.targets, targets)
		})
		if i < 0 {
			i = len(all)
			all = append(all, &breach{invariant: g.Invariant, targets: targets})
		}
		all[i].groups = append(all[i].groups, g)
	}
	return all
}

// mainTargets are the targets at which every invariant breaks; where there are none, those at
// which the most severe ones do.
func mainTargets(breaches []*breach) (main []string) {
	var invariants []string
	at := map[string][]string{}
	for _, p := range breaches {
		if at[p.invariant] == nil {
			invariants = append(invariants, p.invariant)
		}
		at[p.invariant] = append(at[p.invariant], p.targetText())
	}
	main = at[invariants[0]]
	for _, name := range invariants[1:] {
		both := slices.DeleteFunc(slices.Clone(main), func(one string) bool { return !slices.Contains(at[name], one) })
		if len(both) > 0 {
			main = both
		}
	}
	return main
}

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
	case "timeout", "lost_request":
		if waited > 0 {
			return fmt.Sprintf("waits %v and times out before the work", waited)
		}
		return "times out before the work"
	case "lost_reply":
		if waited > 0 {
			return fmt.Sprintf("does its work and its reply is lost after %v", waited)
		}
		return "does its work and its reply is lost"
	case "latency":
		return fmt.Sprintf("takes %v longer", waited)
	}
	return cmp.Or(map[string]string{"error": "fails", "hang": "hangs", "duplicate": "is executed twice",
		"delivered_twice": "is executed twice", "empty_result": "returns an empty result",
		"malformed_result": "returns what is not JSON", "panic": "panics"}[kind], "meets "+kind)
}

// factsOf are the facts that the events of a run show about the calls with faults.
func factsOf(s *runDigest, hits []hit) (facts []string) {
	targets := map[string]bool{}
	for i := range hits {
		targets[hits[i].Target] = true
	}
	others := func(h hit) bool { // of another operation or prompt, or nobody saw a failure
		return h.Op() != hits[0].Op() || h.Prompt != hits[0].Prompt || !h.Failed
	}
	if len(hits) > 0 && !slices.ContainsFunc(hits, others) {
		facts = append(facts, "the agent tries "+timesText(hits[0].Tries))
	}
	for _, tool := range s.Again {
		if targets[tool.Name] {
			facts = append(facts, tool.Name+" is called again with equal arguments after its work was done")
			if tool.Audit != "" {
				facts = append(facts, tool.Name+": an audit found that "+tool.Audit)
			}
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

func timesText(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

func kindOf(f chaos.Fault, otherwise string) string {
	if d, ok := f.(chaos.Described); ok {
		if kind := d.Describe().Kind; kind != "" {
			return kind
		}
	}
	return otherwise
}
