package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// The scores beside that of the contract: what faults, other words and replayed sessions
// did, and all of them together.

// scores returns their facts, of those that are known.
func scores(r *contract.Report) (all []fact) {
	if s := r.Chaos; s != nil {
		all = append(all, fact{"chaos", chaosText(s)})
	}
	if s := r.Mutation; s != nil {
		all = append(all, fact{"mutation", mutationText(s)})
		for _, k := range s.Kinds {
			all = append(all, fact{"kind", kindText(k, s.Prompts)})
		}
	}
	if s := r.Replay; s != nil {
		all = append(all, fact{"replay", replayText(s)})
	}
	all = append(all, judgeFacts(r)...)
	if s := r.Overall; s != nil {
		all = append(all, fact{"overall", overallText(s)})
	}
	return all
}

// aboveZero lists numbers with their names, without those that are 0.
func aboveZero(parts ...any) (all []string) {
	for i := 0; i < len(parts); i += 2 {
		if n := parts[i].(int); n > 0 {
			all = append(all, text.Number(n)+" "+parts[i+1].(string))
		}
	}
	return all
}

// left lists what a score leaves out, each with its number.
func left(parts ...any) string {
	if all := aboveZero(parts...); len(all) > 0 {
		return "; left out: " + strings.Join(all, ", ")
	}
	return ""
}

func chaosText(s *scoring.ChaosScore) string {
	value := "none, because no cell under rules was decided"
	if s.Decided > 0 {
		value = points(s.Value) + " of 100 under rules, weighted by severity; " +
			share{s.Passed, s.Decided, "decided cell", s.Interval, kindOf(s.Interval, "by scenario")}.String()
	}
	return value +
		left(s.CalmBroken, "broken in calm too", s.CalmUndecided, "not decided in calm", s.Inconclusive, "inconclusive",
			s.Undelivered, "undelivered", s.NotRun, "not run")
}

func mutationText(s *scoring.MutationScore) string {
	value := "none, because no mutation was decided"
	if s.Decided > 0 {
		value = fmt.Sprintf("%s of 1, weighted by kind: %s; held %s", strconv.FormatFloat(s.Value, 'f', 3, 64),
			clean(s.Formula),
			of(s.Passed, s.Decided, s.Interval, s.Prompts))
	}
	return value + left(s.Inconclusive, "inconclusive", s.Undelivered, "undelivered", s.NotRun, "not run")
}

func kindText(k scoring.KindScore, prompts int) string {
	weight := strconv.FormatFloat(k.Weight, 'g', -1, 64)
	if k.Decided == 0 {
		return fmt.Sprintf("%s × %s: none of %s decided", clean(k.Kind), weight, text.Number(k.Total))
	}
	return fmt.Sprintf("%s × %s: %s", clean(k.Kind), weight, of(k.Passed, k.Decided, k.Interval, prompts)) +
		left(k.Total-k.Decided, "not decided")
}

func replayText(s *scoring.ReplayScore) string {
	value := "none, because no cell of a session was decided"
	if s.Decided > 0 {
		value = points(s.Value) + " of 100; " +
			share{s.Passed, s.Decided, "decided cell", s.Interval, kindOf(s.Interval, "by session")}.String()
	}
	return value + left(s.Inconclusive, "inconclusive", s.Undelivered, "undelivered", s.NotRun, "not run")
}

func overallText(s *scoring.Overall) string {
	parts := make([]string, len(s.Ran))
	for i, p := range s.Ran {
		parts[i] = fmt.Sprintf("%s %s × %s", clean(p.Name), points(p.Score), strconv.FormatFloat(p.Weight, 'g', 4, 64))
	}
	value := fmt.Sprintf("%v, %s of 100: %s; %s", s.Verdict, points(s.Value), strings.Join(parts, " + "), clean(s.Why))
	if len(s.Missing) > 0 {
		value += "; did not run: " + clean(strings.Join(s.Missing, ", "))
	}
	if s.Renormalised {
		value += "; weights were scaled up to those that ran"
	}
	return value
}

func points(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// of is a share of mutations of so many prompts, with its interval.
func of(passed, decided int, in scoring.Interval, prompts int) string {
	s := fmt.Sprintf("%s of %s", text.Number(passed), text.Number(decided))
	if in.Level > 0 {
		by := "by text"
		if prompts > 1 {
			by = "by prompt"
		}
		s += " (" + intervalText(in, kindOf(in, by)) + ")"
	}
	return s
}

// scoreNumbers are the numbers of the scores, which must be finite.
func scoreNumbers(r *contract.Report) (all []float64) {
	interval := func(in scoring.Interval) { all = append(all, in.Low, in.High, in.Level) }
	if s := r.Chaos; s != nil {
		all = append(all, s.Value)
		interval(s.Interval)
	}
	if s := r.Mutation; s != nil {
		all = append(all, s.Value)
		interval(s.Interval)
		for _, k := range s.Kinds {
			all = append(all, k.Weight)
			interval(k.Interval)
		}
	}
	if s := r.Replay; s != nil {
		all = append(all, s.Value)
		interval(s.Interval)
	}
	all = append(all, judgeNumbers(r)...)
	if s := r.Overall; s != nil {
		all = append(all, s.Value)
		for _, p := range s.Ran {
			all = append(all, p.Score, p.Weight)
		}
	}
	return all
}

// scores checks what the numbers of the scores say about each other. What they were
// computed from, the report does not have.
func (p problems) scores(r *contract.Report) {
	share := func(field string, value, most float64, passed, decided, total int, in scoring.Interval, out ...int) {
		sum := decided
		for _, n := range out {
			sum += n
		}
		if least := slices.Min(append(out, passed, decided-passed)); least < 0 || sum != total {
			p.Wrong(field, found("%d of %d decided, %d in all", passed, decided, total),
				"counts of 0 and more, of which decided and those left out are the total")
		}
		if value < 0 || value > most || math.IsNaN(value) {
			p.Wrong(field+".value", value, fmt.Sprintf("0 to %v", most))
		}
		p.holds(field+".interval", in, passed, decided)
	}
	if s := r.Chaos; s != nil {
		share("chaos", s.Value, 100, s.Passed, s.Decided, s.Total, s.Interval,
			s.Inconclusive, s.Undelivered, s.NotRun, s.CalmBroken, s.CalmUndecided)
	}
	if s := r.Mutation; s != nil {
		share("mutation", s.Value, 1, s.Passed, s.Decided, s.Total, s.Interval, s.Inconclusive, s.Undelivered, s.NotRun)
		for i, k := range s.Kinds {
			share(fmt.Sprintf("mutation.kinds[%d]", i), 0, 1, k.Passed, k.Decided, k.Total, k.Interval,
				k.Total-k.Decided)
		}
	}
	if s := r.Replay; s != nil {
		share("replay", s.Value, 100, s.Passed, s.Decided, s.Total, s.Interval, s.Inconclusive, s.Undelivered, s.NotRun)
	}
	p.judges(r)
	if s := r.Overall; s != nil && (s.Value < 0 || s.Value > 100) {
		p.Wrong("overall.value", s.Value, "0 to 100")
	}
}

// holds checks what an interval says of its share. The clusters it is by are not in the report.
func (p problems) holds(field string, in scoring.Interval, passed, decided int) {
	if decided <= 0 {
		p.interval(field, in, scoring.Interval{})
		return
	}
	at := float64(passed) / float64(decided)
	if in.Level != scoring.Level95 || in.Low < 0 || in.Low > at || at > in.High || in.High > 1 || in.Clusters < 0 {
		p.Wrong(field, found("%v to %v at %v", in.Low, in.High, in.Level), "one at 0.95 that holds the share")
	}
}

// What judges of prose ruled, and how far they are to be believed.

// judgeFacts returns the lines of each judge: its rulings, and its calibration if there is
// one, also by language if that knows several.
func judgeFacts(r *contract.Report) (all []fact) {
	for _, s := range r.Judges {
		all = append(all, fact{"judge", judgeText(s)})
		if c := s.Calibration; c != nil {
			all = append(all, fact{"errors", calibrationText(c)})
			for _, l := range c.Languages {
				if len(c.Languages) > 1 {
					all = append(all, fact{"language", languageText(l)})
				}
			}
		}
	}
	return all
}

func judgeText(s scoring.JudgeScore) string {
	value := fmt.Sprintf("%s asked %s: ", clean(s.Invariant), judgeName(s.Judge, s.Version))
	rate, in, ok := s.Rate()
	if ok {
		value += fmt.Sprintf("%s of %s held, %s raw (%s)", text.Number(s.Held),
			text.Plural(s.Held+s.Broken, "judged answer"), percent(rate), intervalText(in, kindOf(in, "by scenario")))
	} else {
		value += "no answer judged"
	}
	if least, most, ok := s.Bounds(); ok && s.Unsure > 0 {
		value += fmt.Sprintf(", and %s to %s with those unsure all broken or all held", percent(least), percent(most))
	}
	if c := s.Calibration; c != nil && c.Least != nil && c.Most != nil {
		rate := percent(*c.Least)
		if s.Unsure > 0 {
			rate += " to " + percent(*c.Most)
		}
		ofJudge := "Lang and Reiczigel"
		if c.Interval.Clusters > 0 {
			ofJudge += " by scenario"
		}
		value += fmt.Sprintf("; %s corrected (%s)", rate,
			intervalText(c.Interval, ofJudge))
	}
	rest := aboveZero(s.Unsure, "unsure", s.Failed, "failed", s.Disputed, "disputed", s.Contradicted, "contradicted",
		s.Cached, "kept from before", s.Malformed, "malformed")
	if s.Calls > 0 {
		rest = append(rest, text.Plural(s.Calls, "call"))
	}
	if s.Cost > 0 {
		rest = append(rest, "cost "+text.Cost(s.Cost))
	}
	if len(rest) > 0 {
		value += "; " + strings.Join(rest, ", ")
	}
	return value
}

func calibrationText(c *scoring.JudgeRates) string {
	value := fmt.Sprintf("of %s, calibrated %s on %s: %s", judgeName(c.Judge, c.Version), clean(c.Date),
		clean(c.Sample), ratesText(c.Found, c.Bad, c.Spared, c.Good))
	if len(c.Languages) == 1 && c.Languages[0].Language != "" {
		value += ", all in " + clean(c.Languages[0].Language)
	}
	if c.Attacks == 0 {
		value += "; not attacked"
	} else {
		value += fmt.Sprintf("; %s of %s talked it round", text.Number(c.Moved), text.Plural(c.Attacks, "attack"))
	}
	return value
}

func languageText(l scoring.JudgeLanguage) string {
	return cmp.Or(clean(l.Language), "not known") + ": " + ratesText(l.Found, l.Bad, l.Spared, l.Good)
}

// ratesText has the sensitivity and the specificity of a judge, with their intervals.
func ratesText(found, bad, spared, good int) string {
	rate := func(verb string, right, of int, kind string) string {
		s := fmt.Sprintf("%s %s of %s %s", verb, text.Number(right), text.Number(of), kind)
		if in, err := stats.ClopperPearson(right, of, scoring.Level95); err == nil {
			s += fmt.Sprintf(" (%s)", intervalText(in, "exact"))
		}
		return s
	}
	return rate("found", found, bad, "broken") + ", " + rate("spared", spared, good, "good")
}

func judgeName(name, version string) string {
	name = cmp.Or(clean(name), "a judge without a name")
	if version != "" {
		name += " version " + clean(version)
	}
	return name
}

// judgeNotes says what makes the rulings of judges doubtful.
func judgeNotes(r *contract.Report) (all []string) {
	for _, s := range r.Judges {
		of := fmt.Sprintf("The judge of %s, %s", clean(s.Invariant), judgeName(s.Judge, s.Version))
		if s.Contradicted > 0 {
			all = append(all, fmt.Sprintf("%s, contradicted itself: of %s that several cells asked, it ruled held for one "+
				"and broken for another.", of, text.Plural(s.Contradicted, "question")))
		}
		if s.Calibration == nil {
			all = append(all, of+", was not calibrated: how often it is wrong is not known.")
			continue
		}
		for _, w := range s.Calibration.Warnings {
			all = append(all, of+": "+clean(w)+".")
		}
	}
	return all
}

// judgeNumbers are the numbers that must be finite.
func judgeNumbers(r *contract.Report) (all []float64) {
	for _, s := range r.Judges {
		all = append(all, s.Cost)
		if c := s.Calibration; c != nil {
			all = append(all, c.Interval.Low, c.Interval.High, c.Interval.Level)
			for _, rate := range []*float64{c.Least, c.Most} {
				if rate != nil {
					all = append(all, *rate)
				}
			}
		}
	}
	return all
}

// judges checks what the numbers of judges say about each other.
func (p problems) judges(r *contract.Report) {
	for i, s := range r.Judges {
		field := fmt.Sprintf("judges[%d]", i)
		if !slices.Contains(r.Invariants, s.Invariant) {
			p.Wrong(field+".invariant", s.Invariant, "an invariant of the report")
		}
		least := min(s.Held, s.Broken, s.Unsure, s.Failed, s.Calls, s.Malformed, s.Cached, s.Disputed)
		if least < 0 || s.Held+s.Broken+s.Unsure+s.Failed != s.Asked {
			p.Wrong(field, found("%d asked", s.Asked),
				"counts of 0 and more, whose rulings and failures are those asked")
		}
		var by scoring.JudgeScenario
		for _, own := range s.ByScenario() {
			least = min(least, own.Held, own.Broken, own.Unsure)
			by.Held, by.Broken, by.Unsure = by.Held+own.Held, by.Broken+own.Broken, by.Unsure+own.Unsure
		}
		p.Demand(least >= 0 && by == scoring.JudgeScenario{Held: s.Held, Broken: s.Broken, Unsure: s.Unsure},
			field+".scenarios", text.Plural(len(s.Scenarios), "scenario"), "those whose sums are the counts, or none")
		if s.Distinct < 0 || s.Distinct > s.Held+s.Broken {
			p.Wrong(field+".distinct", s.Distinct, "0 to held and broken")
		}
		p.Demand(s.Contradicted >= 0 && s.Contradicted <= min(s.Held, s.Broken, s.Distinct), field+".contradicted",
			s.Contradicted, "0 to the least of held, broken and distinct")
		if s.Cost < 0 {
			p.Wrong(field+".cost", s.Cost, "0 and more")
		}
		c := s.Calibration
		if c == nil {
			continue
		}
		field += ".calibration"
		if min(c.Found, c.Spared, c.Moved, c.Bad-c.Found, c.Good-c.Spared, c.Attacks-c.Moved) < 0 {
			p.Wrong(field, found("%d of %d, %d of %d, %d of %d", c.Found, c.Bad, c.Spared, c.Good, c.Moved,
				c.Attacks), "parts of 0 to the whole")
		}
		var sum scoring.JudgeLanguage
		for _, l := range c.Languages {
			p.Demand(min(l.Found, l.Spared, l.Bad-l.Found, l.Good-l.Spared) >= 0, field+".languages",
				found("%d of %d, %d of %d", l.Found, l.Bad, l.Spared, l.Good), "parts of 0 to the whole")
			sum.Found, sum.Bad = sum.Found+l.Found, sum.Bad+l.Bad
			sum.Spared, sum.Good = sum.Spared+l.Spared, sum.Good+l.Good
		}
		all := scoring.JudgeLanguage{Found: c.Found, Bad: c.Bad, Spared: c.Spared, Good: c.Good}
		p.Demand(len(c.Languages) == 0 || sum == all, field+".languages", text.Plural(len(c.Languages), "language"),
			"those of the calibration, whose sums are its counts")
		p.Demand((c.Least == nil) == (c.Most == nil), field+".most", found("there: %t", c.Most != nil),
			"there with least, and only then")
		if c.Least == nil || c.Most == nil {
			continue
		}
		in := c.Interval
		ordered := 0 <= in.Low && in.Low <= *c.Least && *c.Least <= *c.Most && *c.Most <= in.High && in.High <= 1
		if !ordered || !(in.Level > 0 && in.Level < 1) {
			p.Wrong(field+".least", *c.Least, "0 to most, within its interval")
		}
	}
}
