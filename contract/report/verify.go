package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// Verify reads what [Compact] wrote, to the end of the input, and computes everything
// again that follows from something else: the SHA-256, the counts from the states of the
// trials, the score, the verdict, the intervals and the decisions from the counts, the
// fingerprint from its parts. It notices each changed byte.
//
// The report that it returns has a cell for each trial, without observations and
// reasons, and where a fault must have been delivered one is counted. Without the states
// of trials it has Counts alone. Its Score.Why is the one of this version of the library.
//
// Verify notices accidents, such as a cut file, a merge of two or an edit by hand. It
// does not notice somebody who computes the SHA-256 anew: the signature of the file does.
//
// Errors: [*FieldError] for every mismatch found, up to about twenty, joined; and those
// of the reader.
func Verify(rd io.Reader) (*contract.Report, error) {
	text, err := io.ReadAll(rd)
	if err != nil {
		return nil, fmt.Errorf("report: read: %w", err)
	}
	if err := checkSyntax(text); err != nil {
		return nil, err
	}
	if err := checkShapeOf(text, reflect.TypeFor[compactFile]()); err != nil {
		return nil, err
	}
	f := new(compactFile)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fields.Because("compact report", nil, err, "")
	}
	p := problems{fields.ListUpTo(maxProblems)}
	if f.Format != compactFormat {
		p.Wrong("format", f.Format, compactFormat)
	}
	f.bytes(p, text)
	r := f.report(p)
	if p.Count() == 0 {
		f.judged(p, r)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// bytes checks that the text is, byte for byte, what Compact writes, with its hash.
func (f *compactFile) bytes(p problems, text []byte) {
	own := *f
	want := own.encode()
	if f.SHA256 != own.SHA256 {
		p.Wrong("sha256", f.SHA256, own.SHA256+", that of the file")
		return
	}
	if bytes.Equal(text, want) {
		return
	}
	at := 0
	for at < len(text) && at < len(want) && text[at] == want[at] {
		at++
	}
	line, column := 1+bytes.Count(text[:at], []byte("\n")), at-bytes.LastIndexByte(text[:at], '\n')
	p.Add(fields.Wrong("", fielderror.Found("another spelling"), "the bytes that Compact writes").At(line, column))
}

// report makes the report that the file is of.
func (f *compactFile) report(p problems) *contract.Report {
	r := &contract.Report{Name: f.Name, Seed: f.Seed, Trials: f.Trials, Fingerprint: f.Fingerprint, Tools: f.Tools,
		Faults: f.Faults, Repeats: f.Repeats, Goals: f.Goals,
		SharedObservations: f.Shared, Sequential: f.Sequential, Filtered: f.Filtered,
		Cancelled: f.Cancelled, AllowInconclusive: f.AllowInconclusive, Cells: []contract.CellReport{}}
	for _, d := range f.Defects {
		r.Defects = append(r.Defects, contract.Defect{Sentence: d.Sentence, Severity: d.Severity})
	}
	switch f.Repeatable {
	case "yes", "no":
		r.Repeatable = f.Repeatable
	case notTried:
	default:
		p.Wrong("repeatable", f.Repeatable, "yes, no, "+notTried)
	}
	if f.Trials < 1 {
		p.Wrong("trials", f.Trials, "1 or more")
	}
	names := map[string]int{}
	for i, inv := range f.Invariants {
		p.unique("invariants", names, inv.Name, i)
		r.Invariants = append(r.Invariants, inv.Name)
	}
	clear(names)
	for i, s := range f.Scenarios {
		p.unique("scenarios", names, s.Name, i)
		r.Scenarios = append(r.Scenarios, s.Name)
	}
	f.sameMatrix(p, r)
	f.fill(p, r)
	f.withRates(p, r)
	p.faults(r)
	p.goals(r)
	return r
}

// sameMatrix compares the fingerprint with what the file says besides.
func (f *compactFile) sameMatrix(p problems, r *contract.Report) {
	print := f.Fingerprint
	if print == nil {
		return
	}
	p.Add(print.Check())
	for _, of := range []struct {
		member   string
		is, want any
	}{
		{"name", print.Name, f.Name}, {"seed", print.Seed, f.Seed}, {"trials", print.Trials, f.Trials},
		{"shared", print.Shared, f.Shared},
		{"scenarios", namesOf(maps.Keys(print.Scenarios)), namesOf(slices.Values(r.Scenarios))},
		{"invariants", namesOf(maps.Keys(print.Invariants)), namesOf(slices.Values(r.Invariants))},
	} {
		if of.is != of.want {
			p.Wrong("fingerprint."+of.member, of.is, fmt.Sprintf("%v, as the file says", of.want))
		}
	}
}

func namesOf(all iter.Seq[string]) string { return strings.Join(slices.Sorted(all), ", ") }

// fill adds the fields, the cells and the counts.
func (f *compactFile) fill(p problems, r *contract.Report) {
	kept, lost := 0, 0
	for k := range f.Scenarios {
		s := &f.Scenarios[k]
		at := fmt.Sprintf("scenarios[%d]", k)
		if len(s.Counts) != len(f.Invariants) || len(s.States) != len(f.Invariants) {
			p.Wrong(at, found("%d counts and %d states", len(s.Counts), len(s.States)),
				fmt.Sprintf("one of each for each of the %d invariants", len(f.Invariants)))
			return
		}
		longest := 0
		s.reached = f.reached(s)
		for i, states := range s.States {
			switch states {
			case "":
			case notKept:
				lost++
			default:
				kept, longest = kept+1, max(longest, len(states))
			}
			f.field(p, r, s, i, at)
		}
		if longest > f.Trials {
			p.Wrong(at+".states", found("%d trials", longest), fmt.Sprintf("at most the %d of trials", f.Trials))
			return
		}
		for trial := range longest {
			f.trial(r, s, trial)
		}
	}
	if kept > 0 && lost > 0 {
		p.Wrong("scenarios", found("%d fields with the states of their trials and %d without", kept, lost),
			"either all or none")
	}
}

// field checks the counts of a field against its states, and adds both.
func (f *compactFile) field(p problems, r *contract.Report, s *compactScenario, i int, at string) {
	counts, states := s.Counts[i], s.States[i]
	inv := f.Invariants[i]
	place := func(member string) string { return fmt.Sprintf("%s.%s[%d]", at, member, i) }
	if len(counts) > countsOfField || len(trimmed(counts)) != len(counts) {
		p.Wrong(place("counts"), found("%v", counts),
			fmt.Sprintf("%d numbers or fewer, the last above 0", countsOfField))
		return
	}
	var own [countsOfField]int
	copy(own[:], counts)
	for _, n := range own {
		if n < 0 {
			p.Wrong(place("counts"), found("%v", counts), "numbers of 0 or more")
			return
		}
	}
	if own[unprovokedAt] > own[undeliveredAt] {
		p.Wrong(place("counts"), found("%v", counts), "at most as many that broke without a fault as were undelivered")
		return
	}
	if states != notKept {
		seen, ok := tallyOf(states)
		if !ok {
			p.Wrong(place("states"), states, "the letters h, b, i, u, U, n and -, the last only between others")
			return
		}
		if seen != own {
			p.Wrong(place("counts"), found("%v", counts), fmt.Sprintf("%v, as the states say", trimmed(seen[:])))
			return
		}
	}
	if states == "" {
		return
	}
	var copies [3]int
	if i < len(s.Copies) {
		copy(copies[:], s.Copies[i])
	}
	r.Fields = append(r.Fields, contract.Field{Scenario: s.Name, Invariant: inv.Name, Severity: inv.Severity,
		AtLeast: inv.AtLeast, Poor: inv.Poor, DistinctHeld: copies[0], Distinct: copies[1], Copies: copies[2] == 1})
	own[undeliveredAt] -= own[unprovokedAt]
	for state, n := range []int{own[notRunAt], own[heldAt], own[brokenAt], own[inconclusiveAt], own[undeliveredAt]} {
		f.count(r, s, inv, contract.CellState(state), state == int(contract.Broken), n)
	}
	f.count(r, s, inv, contract.Undelivered, true, own[unprovokedAt])
}

func (f *compactFile) count(r *contract.Report, s *compactScenario, inv compactInvariant, state contract.CellState,
	violated bool, n int,
) {
	if n == 0 {
		return
	}
	r.Counts = append(r.Counts,
		scoring.Cell{Scenario: s.Name, Invariant: inv.Name, Severity: inv.Severity, State: state,
			Violated: violated, Delivered: s.delivered(state), HasRules: s.Rules, AllowUndelivered: s.AllowUndelivered,
			Count: n})
}

// delivered is the least number of delivered faults of a cell.
func (s *compactScenario) delivered(state contract.CellState) int {
	return one(s.Rules && (state == contract.Held || state == contract.Broken ||
		state == contract.Inconclusive && s.reached))
}

// reached reports whether faults were delivered in the inconclusive cells of a scenario. The
// file does not say so: if one of its rules was delivered, they were. A scenario that rewrites
// prompts and has no rules is a Pass only if a text changed.
func (f *compactFile) reached(s *compactScenario) bool {
	rules := false
	for i := range f.Faults {
		if c := &f.Faults[i]; c.Scenario == s.Name {
			if c.Delivered > 0 {
				return true
			}
			rules = true
		}
	}
	return !rules && f.Score.Verdict == scoring.Pass
}

// tallyOf counts the states of a field.
func tallyOf(states string) (counts [countsOfField]int, ok bool) {
	for i := range len(states) {
		if state, violated, known := stateOf(states[i]); known {
			addCounts(counts[:], state, violated, 1)
		} else if states[i] != noTrial {
			return counts, false
		}
	}
	return counts, states == string(noTrial) || !strings.HasSuffix(states, string(noTrial))
}

// trial adds the cells of a trial, from 0, in the order of a report.
func (f *compactFile) trial(r *contract.Report, s *compactScenario, trial int) {
	for i, states := range s.States {
		if trial >= len(states) {
			continue
		}
		state, violated, known := stateOf(states[trial])
		if !known { // there is no such trial, states were not kept, or it is refused with its field
			continue
		}
		inv := f.Invariants[i]
		r.Cells = append(r.Cells, contract.CellReport{Severity: inv.Severity, State: state, Violated: violated,
			Cell:      contract.Cell{Scenario: s.Name, Invariant: inv.Name, Trial: trial + 1},
			Delivered: s.delivered(state)})
	}
}

// withRates puts the stated decisions into the fields.
func (f *compactFile) withRates(p problems, r *contract.Report) {
	at := 0
	for k := range r.Fields {
		field := &r.Fields[k]
		if field.AtLeast == 0 {
			continue
		}
		if at == len(f.Rates) || f.Rates[at].Scenario != field.Scenario || f.Rates[at].Invariant != field.Invariant {
			p.Wrong(fmt.Sprintf("rates[%d]", at), fielderror.Found("another or none"),
				fmt.Sprintf("that of %s/%s: one for each field with atLeast, in order", field.Scenario,
					field.Invariant))
			return
		}
		rate := f.Rates[at]
		field.Standing.Decision, field.DecidedAfter, field.HeldThen = rate.Decision, rate.DecidedAfter, rate.HeldThen
		at++
	}
	if at < len(f.Rates) {
		p.Wrong(fmt.Sprintf("rates[%d]", at), fielderror.Found("there"), "one for each field with atLeast")
	}
}

// notARate is allowed in place of an atLeast of 1, which Judge makes 0.
const notARate = "a rate, or none for every trial"

// judged judges the report, and compares the outcome with what the file states.
func (f *compactFile) judged(p problems, r *contract.Report) {
	stated := r.Fields
	err := r.Judge()
	if err != nil && !errors.Is(err, scoring.ErrNoneRan) && !errors.Is(err, scoring.ErrNoDecidedCell) {
		p.Because("scenarios", fielderror.Found("not to be scored"), err, "")
		return
	}
	p.score(f.Score, r.Score)
	p.byScenario(f.ByScenario, r.ByScenario)
	if f.Saved != r.Saved {
		p.Wrong("saved", f.Saved, fmt.Sprintf("%d, as the states say", r.Saved))
	}
	at := 0
	for k, was := range stated {
		is := &r.Fields[k]
		if was.AtLeast != is.AtLeast {
			p.Wrong(fmt.Sprintf("invariants[%q].atLeast", is.Invariant), was.AtLeast, notARate)
		}
		if was.Poor != is.Poor {
			p.Wrong(fmt.Sprintf("invariants[%q].poor", is.Invariant), was.Poor,
				fmt.Sprintf("%v with atLeast %v", is.Poor, is.AtLeast))
		}
		if was.AtLeast == 0 {
			continue
		}
		if was.Standing.Decision != is.Standing.Decision || was.DecidedAfter != is.DecidedAfter ||
			was.HeldThen != is.HeldThen {
			p.Wrong(fmt.Sprintf("rates[%d]", at),
				found("%v after %d, of which %d held", was.Standing.Decision, was.DecidedAfter,
					was.HeldThen), fmt.Sprintf("%v after %d, of which %d held, as the states say", is.Standing.Decision,
					is.DecidedAfter, is.HeldThen))
		}
		at++
	}
}
