package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"

	"github.com/shakedown-go/shakedown/internal/text"
)

// Unguarded are the faults that changed the end state or the answer and that no invariant
// noticed; those that changed the end state first.
func (s *Strength) Unguarded() (all []Guard) {
	for _, changed := range []changeKind{changedState, changedAnswer} {
		for _, g := range s.Guards {
			if g.Changed == changed.String() && g.Unguarded() {
				all = append(all, g)
			}
		}
	}
	return all
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
	var holds []string
	for _, c := range s.Invariants {
		if c.Runs > 0 && c.Broke == 0 && c.Undecided == 0 {
			holds = append(holds, c.Invariant)
		}
	}
	switch {
	case len(holds) == 0:
	case s.Difference != nil || slices.ContainsFunc(s.Defects, didNotBreakAgain):
		parts = append(parts, "in one run each, none of which broke "+orList(holds))
	default:
		parts = append(parts, "no set of these breaks "+orList(holds))
	}
	return strings.Join(parts, "; ")
}

// didNotBreakAgain reports whether a defect of a sweep broke in one run and not in the next.
func didNotBreakAgain(d contract.Defect) bool { return d.Difference != "" }

// name is what a level calls its sets.
func (l *Level) name(n int) string {
	switch {
	case l.Faults == 1:
		return text.Number(n) + " " + text.Noun(n, "single fault", "single faults")
	case l.Follows && l.Faults == 2:
		return text.Number(n) + " " + text.Noun(n, "pair", "pairs") +
			" in which the second is on a call that the first brought about"
	case l.Follows:
		return fmt.Sprintf("%s %s of %d faults, each but the first on a call that the others brought about",
			text.Number(n), text.Noun(n, "set", "sets"), l.Faults)
	}
	return text.Number(n) + " other " + text.Noun(n, "pair", "pairs")
}

// covered says how many of the sets were tried, and how.
func (l *Level) covered() string {
	tried := l.Alone + l.Together
	said := fmt.Sprintf("%s of %s", text.Number(tried), l.name(l.Possible))
	if tried == l.Possible && l.Unknown == 0 {
		said = "all " + l.name(l.Possible)
	}
	if l.Unknown > 0 {
		said += " that are known"
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
	for i, d := range s.Defects {
		fmt.Fprintf(&b, "%d %v  %s\n", i+1, d.Severity, d.Sentence)
		if d.Difference != "" {
			fmt.Fprintf(&b, "    did not break again: %s\n", d.Difference)
		}
		if d.Runs > 0 {
			fmt.Fprintf(&b, "    %-8s it broke in %d of %s more\n", sureness(&d), d.Broke, text.Plural(d.Runs, "run"))
		}
		if d.Cut {
			b.WriteString("    cut      the search ended early: fewer faults may be enough\n")
		}
		for _, k := range d.Breaks {
			where := ""
			if len(k.At) > 0 {
				where = " at " + strings.Join(k.At, ", ")
			}
			fmt.Fprintf(&b, "    breaks   %s (%v)%s: %s\n", k.Invariant, k.Severity, where, text.Clip(k.Why, 200))
		}
		for _, f := range d.Facts {
			fmt.Fprintf(&b, "    fact     %s\n", f)
		}
	}
	fmt.Fprintf(&b, "covered    %s\n", s.Covered())
	for i := range s.Levels {
		if m := s.Levels[i].missing(); m != "" {
			fmt.Fprintf(&b, "left out   %s\n", m)
		}
	}
	for _, c := range s.Invariants {
		switch {
		case c.Calm:
			fmt.Fprintf(&b, "calm       %s breaks without any fault: nothing else was tried for it\n", c.Invariant)
		case c.Undecided > 0:
			fmt.Fprintf(&b, "undecided  %s in %s of %s\n", c.Invariant, text.Number(c.Undecided),
				text.Plural(c.Runs, "run"))
		}
	}
	s.Strength.write(&b)
	if s.Difference != nil {
		fmt.Fprintf(&b, "random     two runs without faults differ: %v. Single faults alone were tried: whether a fault "+
			"brought about a call, or chance did, cannot be seen, and sets of several were not tried\n", s.Difference)
	}
	fmt.Fprintf(&b, "runs       %s", text.Number(s.Runs))
	if s.Stopped != "" {
		fmt.Fprintf(&b, "; stopped: %s", s.Stopped)
	}
	b.WriteString("\n")
	return b.String()
}

// sureness is the word for a defect of an agent that does not repeat itself: confirmed or not.
func sureness(d *contract.Defect) string {
	if d.Unconfirmed {
		return "unconfirmed:"
	}
	return "confirmed:"
}

func (s *Strength) write(b *strings.Builder) {
	if s.Changed > 0 {
		fmt.Fprintf(b, "strength   %d of %d faults that changed the end state were noticed\n", s.Noticed, s.Changed)
	}
	if s.StateUnknown {
		b.WriteString("strength   the end state is not known everywhere\n")
	}
	byChange := map[string][]string{}
	for _, g := range s.Unguarded() {
		byChange[g.Changed] = append(byChange[g.Changed], g.Target+" "+g.Fault)
	}
	for _, changed := range []string{changedState.String(), changedAnswer.String()} {
		if names := byChange[changed]; len(names) > 0 {
			fmt.Fprintf(b, "unguarded  changed the %s, and no invariant noticed: %s\n", changed,
				strings.Join(names, ", "))
		}
	}
	if len(s.Idle) > 0 {
		fmt.Fprintf(b, "idle       noticed nothing: %s\n", strings.Join(s.Idle, ", "))
	}
}
