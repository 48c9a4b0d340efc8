package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/judging"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// The scores beside that of the contract: what faults, other words and replayed sessions
// did, and all of them together.

// scores returns their facts, of those that are known.
func scores(r *contract.Report) (all []document.Fact) {
	if s := r.Chaos; s != nil {
		all = append(all, fact("chaos", chaosText(s)))
	}
	if s := r.Mutation; s != nil {
		all = append(all, fact("mutation", mutationText(s)))
		for _, k := range s.Kinds {
			all = append(all, fact("kind", kindText(k, s)))
		}
	}
	if s := r.Replay; s != nil {
		all = append(all, fact("replay", replayText(s)))
	}
	all = append(all, judgeFacts(r)...)
	if s := r.Overall; s != nil {
		all = append(all, fact("overall", overallText(s)))
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
	return value + left(s.CalmBroken, "broken in calm too", s.CalmUndecided, "not decided in calm",
		s.Inconclusive, "inconclusive", s.Undelivered, "undelivered", s.NotRun, "not run")
}

func mutationText(s *scoring.MutationScore) string {
	value := "none, because no mutation was decided"
	if s.Decided > 0 {
		value = fmt.Sprintf("%s of 1, weighted by kind: %s; held %v", strconv.FormatFloat(s.Value, 'f', 3, 64),
			s.Formula, share{s.Passed, s.Decided, "", s.Interval, kindOf(s.Interval, byPrompt(s))})
	}
	return value + left(s.Inconclusive, "inconclusive", s.Undelivered, "undelivered", s.NotRun, "not run")
}

func kindText(k scoring.KindScore, s *scoring.MutationScore) string {
	return fmt.Sprintf("%s × %s: %v%s", k.Kind, strconv.FormatFloat(k.Weight, 'g', -1, 64),
		share{k.Passed, k.Decided, "", k.Interval, kindOf(k.Interval, byPrompt(s))},
		left(k.Total-k.Decided, "not decided"))
}

func byPrompt(s *scoring.MutationScore) string {
	if s.Prompts > 1 {
		return "by prompt"
	}
	return "by text"
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
		parts[i] = fmt.Sprintf("%s %s × %s", p.Name, points(p.Score), strconv.FormatFloat(p.Weight, 'g', 4, 64))
	}
	value := fmt.Sprintf("%v, %s of 100: %s; %s", s.Verdict, points(s.Value), strings.Join(parts, " + "), s.Why)
	if len(s.Missing) > 0 {
		value += "; did not run: " + strings.Join(s.Missing, ", ")
	}
	if s.Renormalised {
		value += "; weights were scaled up to those that ran"
	}
	return value
}

func points(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// judgeFacts returns the lines of each judge of prose: what it ruled, and its calibration if there
// is one.
func judgeFacts(r *contract.Report) (all []document.Fact) {
	for _, s := range r.Judges {
		all = append(all, fact("judge", judgeText(s)))
		if s.Calibration != nil {
			all = append(all, fact("errors", calibrationText(s.Calibration)))
		}
	}
	return all
}

func judgeText(s scoring.JudgeScore) string {
	value := fmt.Sprintf("%s asked %s: ", s.Invariant, judging.NameOf(s.Judge, s.Version))
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

// calibrationText has the sensitivity and the specificity of a judge, with their intervals.
func calibrationText(c *scoring.JudgeRates) string {
	rate := func(verb string, right, of int, kind string) string {
		s := fmt.Sprintf("%s %s of %s %s", verb, text.Number(right), text.Number(of), kind)
		if in, err := stats.ClopperPearson(right, of, scoring.Level95); err == nil {
			s += fmt.Sprintf(" (%s)", intervalText(in, kindExact))
		}
		return s
	}
	attacks := "not attacked"
	if c.Attacks > 0 {
		attacks = fmt.Sprintf("%s of %s talked it round", text.Number(c.Moved), text.Plural(c.Attacks, "attack"))
	}
	return fmt.Sprintf("of %s, calibrated %s on %s: %s, %s; %s", judging.NameOf(c.Judge, c.Version), c.Date, c.Sample,
		rate("found", c.Found, c.Bad, "broken"), rate("spared", c.Spared, c.Good, "good"), attacks)
}

func judgeNotes(r *contract.Report) (all []string) {
	for _, s := range r.Judges {
		of := fmt.Sprintf("The judge of %s, %s", s.Invariant, judging.NameOf(s.Judge, s.Version))
		if s.Contradicted > 0 {
			all = append(all, fmt.Sprintf("%s, contradicted itself: of %s that several cells asked, it ruled held for one "+
				"and broken for another.", of, text.Plural(s.Contradicted, "question")))
		}
		if s.Calibration == nil {
			all = append(all, of+", was not calibrated: how often it is wrong is not known.")
			continue
		}
		for _, w := range s.Calibration.Warnings {
			all = append(all, of+": "+w+".")
		}
	}
	return all
}
