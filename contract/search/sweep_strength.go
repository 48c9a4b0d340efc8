package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
)

// result is what was found so far. Findings are merged into defects and kept as [Explain] does
// with broken cells.
func (s *sweeper) result(m *contract.Matrix) *Swept {
	r := &Swept{Levels: s.levels(), Difference: s.Difference, Runs: s.Runs.Spent.Runs,
		Elapsed: time.Since(s.Runs.Begun), Stopped: s.Runs.Cut}
	tallies := s.tallies()
	for _, p := range m.Invariants {
		t := tallies[p.Name]
		t.Invariant, t.Severity = p.Name, p.Severity
		t.Calm = slices.ContainsFunc(s.lists, func(l *promptList) bool {
			return slices.ContainsFunc(l.calmBroke, func(x int) bool { return l.Invariants[x] == p.Name })
		})
		r.Invariants = append(r.Invariants, t)
		if t.Broke == 0 && t.Undecided == 0 && t.Runs > 0 {
			r.Strength.Idle = append(r.Strength.Idle, p.Name)
		}
	}
	r.Strength.Guards, r.Strength.StateUnknown = s.guards()
	for _, g := range r.Strength.Guards {
		if g.Changed == changedState {
			r.Strength.Changed++
			r.Strength.Noticed += min(1, len(g.NoticedBy))
		}
	}
	e := &explainer{matrix: m, o: s.o, secrets: redact.New(s.o.Secrets, redact.Patterns)}
	for _, f := range s.Found {
		s.state(f)
		e.groups = append(e.groups, &f.group)
	}
	slices.SortStableFunc(e.groups, func(a, b *group) int { return cmp.Compare(b.severity, a.severity) })
	r.Defects = e.defects()
	return r
}

// Strength says which faults the invariants notice. It is read off the runs of single
// faults, over all prompt lists.
type Strength struct {
	// Guards has an entry for each target and kind of fault that was delivered, in order.
	Guards []Guard `json:"guards"`
	// Changed is the number of guards whose fault changed the end state, and Noticed that of
	// those among them which some invariant noticed.
	Changed int `json:"changed"`
	Noticed int `json:"noticed"`
	// StateUnknown reports whether some world told no state. Changed then counts too few.
	StateUnknown bool `json:"stateUnknown,omitempty"`
	// Idle are the invariants that held in every run of the sweep.
	Idle []string `json:"idle,omitempty"`
}

// A Guard says what one kind of fault did at one target, and what noticed it.
type Guard struct {
	Target string `json:"target"`
	Fault  string `json:"fault"` // the kind
	// Changed is the most that a single fault changed: "state", "answer", "calls", or
	// nothing.
	Changed string `json:"changed,omitempty"`
	// NoticedBy are the invariants that broke, in order.
	NoticedBy []string `json:"noticedBy,omitempty"`
}

// What a run changed beside the calm run.
const (
	changedCalls  = "calls"
	changedAnswer = "answer"
	changedState  = "state"
)

// changes are they, from the least to the most.
func changes() []string { return []string{"", changedCalls, changedAnswer, changedState} }

// Unguarded are the faults that changed the end state or the answer and that no invariant
// noticed; those that changed the end state first.
func (s *Strength) Unguarded() (all []Guard) {
	for _, changed := range []string{changedState, changedAnswer} {
		for _, g := range s.Guards {
			if g.Changed == changed && len(g.NoticedBy) == 0 {
				all = append(all, g)
			}
		}
	}
	return all
}

// changeOf is the most that a run changed.
func changeOf(calm, run []*contract.Observation) string {
	answers, calls := len(calm) != len(run), false
	for i := range min(len(calm), len(run)) {
		a, b := calm[i], run[i]
		if !sameState(a.After, b.After) {
			return changedState
		}
		answers = answers || answerOf(a) != answerOf(b)
		calls = calls || !answers && new(Difference).ofCalls(a.Events, b.Events)
	}
	switch {
	case answers:
		return changedAnswer
	case calls:
		return changedCalls
	}
	return ""
}

// undecided reports whether the run broke nothing and left an invariant undecided: it does
// not show that the invariants miss its faults.
func (s *runDigest) undecided() bool {
	return !s.Broke() && slices.ContainsFunc(s.States, (*judged).Undecided)
}

// guards reads off the runs of single faults what they changed and what noticed it, in order.
// stateUnknown reports whether some calm run told no state.
func (s *sweeper) guards() (all []Guard, stateUnknown bool) {
	all = []Guard{}
	for _, l := range s.lists {
		stateUnknown = stateUnknown || slices.ContainsFunc(l.before,
			func(o *contract.Observation) bool { return o.After == nil })
		for n := range l.Parts {
			p := &l.Parts[n]
			out := l.runOf(partSet{n})
			if out == nil || len(out.delivered) != 1 || p.call >= l.calmly || out.undecided() {
				continue
			}
			i := slices.IndexFunc(all, func(g Guard) bool { return g.Target == p.Target && g.Fault == p.Fault })
			if i < 0 {
				i, all = len(all), append(all, Guard{Target: p.Target, Fault: p.Fault})
			}
			g := &all[i]
			if slices.Index(changes(), out.changed) > slices.Index(changes(), g.Changed) {
				g.Changed = out.changed
			}
			for x, j := range out.States {
				if j.Broke && !l.calm[0].States[x].Broke && !slices.Contains(g.NoticedBy, j.Invariant) {
					g.NoticedBy = append(g.NoticedBy, j.Invariant)
				}
			}
		}
	}
	for i := range all {
		slices.Sort(all[i].NoticedBy)
	}
	slices.SortFunc(all, func(a, b Guard) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(a.Fault, b.Fault))
	})
	return all, stateUnknown
}

// Covered says in one sentence what was tried, and what no set of that breaks. Of an agent
// that does not repeat itself it says what broke in no run: another run may.
func (s *Swept) Covered() string {
	var parts []string
	tried := 0
	for i := range s.Levels {
		if l := &s.Levels[i]; l.Possible > 0 || l.Unknown > 0 {
			tried += l.Alone + l.Together
			parts = append(parts, l.covered())
		}
	}
	if tried == 0 {
		return "nothing was tried"
	}
	again := func(d contract.Defect) bool { return d.Difference != "" } // it did not break again
	switch holds := s.Strength.Idle; {
	case len(holds) == 0:
	case s.Difference != nil || slices.ContainsFunc(s.Defects, again):
		parts = append(parts, "in one run each, none of which broke "+orList(holds))
	default:
		parts = append(parts, "no set of these breaks "+orList(holds))
	}
	return strings.Join(parts, "; ")
}

// name is what a level calls its sets.
func (l *Level) name(n int) string {
	one, more := "other pair", ""
	switch {
	case l.Faults == 1:
		one = "single fault"
	case l.Follows && l.Faults == 2:
		one, more = "pair", " in which the second is on a call that the first brought about"
	case l.Follows:
		one = "set"
		more = fmt.Sprintf(" of %d faults, each but the first on a call that the others brought about", l.Faults)
	}
	return text.Number(n) + " " + text.Noun(n, one, one+"s") + more
}

// covered says how many of the sets were tried, and how.
func (l *Level) covered() string {
	tried := l.Alone + l.Together
	said := fmt.Sprintf("%s of %s", text.Number(tried), l.name(l.Possible))
	switch {
	case l.Unknown > 0:
		said += " that are known"
	case tried == l.Possible:
		said = "all " + l.name(l.Possible)
	}
	if l.Together > 0 {
		said += ", among others, in " + text.Plural(l.Runs, "run")
		if l.Alone > 0 {
			said += fmt.Sprintf(" (%s of them alone)", text.Number(l.Alone))
		}
	}
	return said
}

// missing says what became of the sets that were not tried; "" if all were.
func (l *Level) missing() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{l.Equal, "equal to a smaller set"},
		{l.Contains, "containing one that breaks"},
		{l.Undelivered, "with a fault that could not be delivered"},
		{l.Left, "not tried"},
	} {
		if p.n > 0 {
			parts = append(parts, text.Number(p.n)+" "+p.what)
		}
	}
	if l.Unknown > 0 {
		parts = append(parts, "those after "+text.Plural(l.Unknown, "set")+" that were not tried are not known")
	}
	if len(parts) == 0 {
		return ""
	}
	return "of " + l.name(l.Possible) + ": " + strings.Join(parts, ", ")
}

// String is the whole result as text: the defects, what was covered and what was not, and
// the strength of the contract.
func (s *Swept) String() string {
	var b strings.Builder
	say := func(indent, label, format string, args ...any) {
		fmt.Fprintf(&b, "%s%-*s %s\n", indent, 10-len(indent)/2, label, fmt.Sprintf(format, args...))
	}
	for i := range s.Defects {
		d := &s.Defects[i]
		fmt.Fprintf(&b, "%d %v  %s\n", i+1, d.Severity, d.Sentence)
		sayDefect(d, func(label, format string, args ...any) { say("    ", label, format, args...) })
	}
	say("", "covered", "%s", s.Covered())
	for i := range s.Levels {
		if m := s.Levels[i].missing(); m != "" {
			say("", "left out", "%s", m)
		}
	}
	for _, c := range s.Invariants {
		switch {
		case c.Calm:
			say("", "calm", "%s breaks without any fault: nothing else was tried for it", c.Invariant)
		case c.Undecided > 0:
			say("", "undecided", "%s in %s of %s", c.Invariant, text.Number(c.Undecided), text.Plural(c.Runs, "run"))
		}
	}
	if t := &s.Strength; t.Changed > 0 {
		say("", "strength", "%d of %d faults that changed the end state were noticed", t.Noticed, t.Changed)
	}
	if s.Strength.StateUnknown {
		say("", "strength", "the end state is not known everywhere")
	}
	unguarded := map[string][]string{}
	for _, g := range s.Strength.Unguarded() {
		unguarded[g.Changed] = append(unguarded[g.Changed], g.Target+" "+g.Fault)
	}
	for _, changed := range []string{changedState, changedAnswer} {
		if names := unguarded[changed]; len(names) > 0 {
			say("", "unguarded", "changed the %s, and no invariant noticed: %s", changed, strings.Join(names, ", "))
		}
	}
	if len(s.Strength.Idle) > 0 {
		say("", "idle", "noticed nothing: %s", strings.Join(s.Strength.Idle, ", "))
	}
	if s.Difference != nil {
		say("", "random", "two runs without faults differ: %v. Single faults alone were tried: whether a fault "+
			"brought about a call, or chance did, cannot be seen, and sets of several were not tried", s.Difference)
	}
	stopped := ""
	if s.Stopped != "" {
		stopped = "; stopped: " + s.Stopped
	}
	say("", "runs", "%s%s", text.Number(s.Runs), stopped)
	return b.String()
}

// sayDefect says what is known of a defect besides its sentence.
func sayDefect(d *contract.Defect, say func(label, format string, args ...any)) {
	if d.Difference != "" {
		say("did not break again:", "%s", d.Difference)
	}
	if d.Runs > 0 {
		say(map[bool]string{true: "unconfirmed:", false: "confirmed:"}[d.Unconfirmed], "it broke in %d of %s more",
			d.Broke, text.Plural(d.Runs, "run"))
	}
	if d.Cut {
		say("cut", "the search ended early: fewer faults may be enough")
	}
	for _, k := range d.Breaks {
		where := ""
		if len(k.At) > 0 {
			where = " at " + strings.Join(k.At, ", ")
		}
		say("breaks", "%s (%v)%s: %s", k.Invariant, k.Severity, where, text.Clip(k.Why, 200))
	}
	for _, f := range d.Facts {
		say("fact", "%s", f)
	}
}
