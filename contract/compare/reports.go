package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/judging"
)

// Reports compares the report of a build with that of an earlier one, field by field.
//
// Matrices says in what the matrices differ. Fields in common by their names are compared; the
// others are listed, and so are those whose scenario or prompts changed, since a change of them
// is no change of the agent.
//
// Each field is tested: trial by trial ([stats.McNemar]) if both reports have one seed, so that
// equal trials met equal faults; otherwise by its counts ([stats.FisherExact]), and so too if an agent
// that does not repeat itself has other numbers of
// trials. If neither report saw two runs of a scenario differ that met the same, trials may be
// copies: then [Repeats] are tested in their place, and more broken trials count also where no
// fault was delivered in them. Holm's method adjusts over all tested fields. All of them
// together are tested by trial and by scenario: see [Overall].
//
// A field that is undelivered, inconclusive or not run on one side is neither better nor
// worse, but for one with Repeats that now breaks without a delivered fault. Nor is one of a run
// with [contract.RunOptions.Sequential], whose trials stopped themselves.
//
// Errors: [*FieldError], joined, for a nil report, one without its cells, cells that contradict each
// other, and options that are not allowed.
func Reports(before, after *contract.Report, o *Options) (*Comparison, error) {
	p := fields.List()
	own := settled(o, p)
	p.Demand(before != nil, "before", fielderror.Found("nil"), "a report")
	p.Demand(after != nil, "after", fielderror.Found("nil"), "a report")
	if err := p.Err(); err != nil {
		return nil, err
	}
	was, is := tableOf(before, "before", p), tableOf(after, "after", p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	apart := unpaired(before, after, &own)
	c := &Comparison{Before: own.Before, After: own.After, Level: own.Level, Unpaired: apart, Fields: []Field{},
		Matrices: differences(before, after, apart == "", &own)}
	changed := changedParts(before.Fingerprint, after.Fingerprint)
	for _, at := range is.order {
		switch b := was.sides[at]; {
		case b == nil:
			c.OnlyAfter = append(c.OnlyAfter, at.String())
		case changed(at):
			c.Changed = append(c.Changed, at.String())
		default:
			f := fieldOf(at, b, is.sides[at], c.Unpaired == "", &own)
			if f.Unclear == "" && (before.Sequential || after.Sequential) {
				f.Unclear = "trials stopped early, which biases shares"
			}
			if before.Seed == after.Seed {
				f.repeats(b, is.sides[at], was.repeats[at.scenario], is.repeats[at.scenario])
			}
			c.Fields = append(c.Fields, f)
		}
	}
	for _, at := range was.order {
		if is.sides[at] == nil {
			c.OnlyBefore = append(c.OnlyBefore, at.String())
		}
	}
	return c, c.test(was, is, after.Seed)
}

func (c *Comparison) test(was, is *table, seed uint64) (err error) {
	if c.Tested, err = adjust(c.Fields, shareOfFields*c.Level); err != nil {
		return err
	}
	c.Sees = powerOf(c.Fields, shareOfFields*c.Level)
	return c.overall(was, is, shareOfOverall*c.Level, seed)
}

// repeats notes the runs that were alike on each side, if trials of the field moved for the worse
// or the better. What breaks without a fault needs no fault to be compared.
func (f *Field) repeats(before, after *side, was, is contract.RepeatCount) {
	worse, better := moreBroken(before, after), moreBroken(after, before)
	if was.Alike == 0 || is.Alike == 0 || !worse && !better || f.Unclear != "" && !(worse && after.Unprovoked > 0) {
		return
	}
	f.Unclear = ""
	f.Repeats = &Repeats{Before: was.Alike, After: is.Alike, Groups: max(was.Groups, is.Groups)}
	f.Repeats.worse = worse
}

// moreBroken reports whether a field is worse although chance has no part in it: more
// trials broke that did not before than hold that broke before, be it without a delivered
// fault. Trials that were not made before, or not judged, do not count: they might have
// broken then too.
func moreBroken(before, after *side) bool {
	net := 0
	for trial, is := range after.states {
		was := before.stateOf(trial)
		switch {
		case broke(is) && (was == contract.Held || was == contract.Undelivered):
			net++
		case is == contract.Held && broke(was), is == contract.Undelivered && was == unprovoked:
			net--
		}
	}
	return net > 0
}

func broke(s contract.CellState) bool { return s == contract.Broken || s == unprovoked }

// unpaired says why trials are not compared one by one; empty: they are.
func unpaired(before, after *contract.Report, o *Options) string {
	switch {
	case before.Seed != after.Seed:
		return fmt.Sprintf("the seeds differ, %d %s and %d %s, so equal trials met other faults", before.Seed, o.Before,
			after.Seed, o.After)
	case before.Trials != after.Trials && (before.Repeatable == "no" || after.Repeatable == "no"):
		return "the agent does not repeat itself, and the numbers of trials differ: all are compared"
	}
	return ""
}

// differences says in what two matrices differ. paired reports whether equal trials are compared.
func differences(before, after *contract.Report, paired bool, o *Options) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if before.Name != after.Name {
		say("the name is %q %s and %q %s", before.Name, o.Before, after.Name, o.After)
	}
	if before.Seed != after.Seed {
		say("the seed is %d %s and %d %s", before.Seed, o.Before, after.Seed, o.After)
	}
	if before.Trials != after.Trials {
		first := ""
		if paired {
			first = fmt.Sprintf("; the first %d of them are compared", min(before.Trials, after.Trials))
		}
		say("each field has %d trials %s and %d %s%s", before.Trials, o.Before, after.Trials, o.After, first)
	}
	if before.SharedObservations != after.SharedObservations {
		say("only the report %s shares observations",
			map[bool]string{true: o.Before, false: o.After}[before.SharedObservations])
	}
	all = append(all, judgesApart(before, after, o)...)
	b, a := before.Fingerprint, after.Fingerprint
	if b == nil || a == nil {
		say("whether prompts and rules are equal is not known: a report has no fingerprint")
		return all
	}
	if b.Prompts != a.Prompts {
		say("the prompts of the matrix differ")
	}
	for _, part := range []struct {
		noun, content        string
		was, is, asked, asks map[string]string
	}{
		{"scenario", "its rules", b.Scenarios, a.Scenarios, b.ScenarioPrompts, a.ScenarioPrompts},
		{"invariant", "its severity, rate or scope", b.Invariants, a.Invariants, b.Probes, a.Probes},
		{"tool", "its input schema", before.Tools, after.Tools, nil, nil}, // of the build, and not of the matrix
	} {
		names := slices.AppendSeq(slices.Collect(maps.Keys(part.was)), maps.Keys(part.is))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			was, known := part.was[name]
			is, kept := part.is[name]
			switch {
			case !known:
				say("%s %s is only %s", part.noun, name, o.After)
			case !kept:
				say("%s %s is only %s", part.noun, name, o.Before)
			case was != is:
				say("%s %s differs in %s", part.noun, name, part.content)
			}
			if known && kept && part.asked[name] != part.asks[name] {
				say("%s %s differs in its prompts", part.noun, name)
			}
		}
	}
	return all
}

// judgesApart are the invariants whose answers other judges of prose ruled on, or by another
// sentence: a difference may then be theirs. Where a report has no judge, nothing is known.
func judgesApart(before, after *contract.Report, o *Options) (all []string) {
	judgesOf := func(r *contract.Report, invariant string) (judges []string) {
		for _, s := range r.Judges {
			if s.Invariant == invariant && s.Held+s.Broken > 0 {
				judges = append(judges, fmt.Sprintf("%s asked %q", judging.NameOf(s.Judge, s.Version), s.Decide))
			}
		}
		slices.Sort(judges)
		return slices.Compact(judges)
	}
	for _, name := range after.Invariants {
		was, is := judgesOf(before, name), judgesOf(after, name)
		if was != nil && is != nil && !slices.Equal(was, is) {
			all = append(all, fmt.Sprintf("invariant %s was judged by %s %s and by %s %s", name,
				strings.Join(was, ", "), o.Before, strings.Join(is, ", "), o.After))
		}
	}
	return all
}

// changedParts reports of a field whether its scenario or its prompts changed.
func changedParts(before, after *contract.Fingerprint) func(place) bool {
	if before == nil || after == nil {
		return func(place) bool { return false } // not known, which differences says
	}
	return func(at place) bool {
		probed, probes := before.Probes[at.invariant], after.Probes[at.invariant]
		if before.Scenarios[at.scenario] != after.Scenarios[at.scenario] || probed != probes {
			return true
		}
		// Probes replace the prompts of a scenario, which replace those of the matrix.
		return probes == "" && promptsOf(before, at.scenario) != promptsOf(after, at.scenario)
	}
}

func promptsOf(f *contract.Fingerprint, scenario string) string {
	return cmp.Or(f.ScenarioPrompts[scenario], f.Prompts)
}
