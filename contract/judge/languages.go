package judge

import (
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// fewLabels is the least number of broken, and of good, answers of a language below which
// its rates say little: of 10 right ones of 10 the interval begins at 69 %.
const fewLabels = 10

// byLanguage warns of rates that are not those of every language: where a language has few
// labels, and where the judge errs more in one than in the others.
func byLanguage(c *scoring.JudgeRates) (warnings []string) {
	if len(c.Languages) < 2 {
		return nil
	}
	var few []string
	type difference struct{ verb, kind, language, own, others string }
	var differences []difference
	var ps []float64
	for i, l := range c.Languages {
		if l.Bad < fewLabels || l.Good < fewLabels {
			few = append(few, fmt.Sprintf("%d broken and %d good in %s", l.Bad, l.Good, inWords(l.Language)))
		}
		if i == 1 && len(c.Languages) == 2 {
			continue // the same comparison from the other side
		}
		for _, r := range []struct {
			verb, kind            string
			right, of, all, allOf int
		}{{"finds", "broken", l.Found, l.Bad, c.Found, c.Bad}, {"spares", "good", l.Spared, l.Good, c.Spared, c.Good}} {
			p, err := stats.FisherExact(stats.Tally{Passed: r.all - r.right, Trials: r.allOf - r.of},
				stats.Tally{Passed: r.right, Trials: r.of})
			if err != nil { // one side has none
				continue
			}
			ps = append(ps, p.TwoSided)
			differences = append(differences, difference{r.verb, r.kind, inWords(l.Language),
				fmt.Sprintf("%d of %d", r.right, r.of), fmt.Sprintf("%d of %d", r.all-r.right, r.allOf-r.of)})
		}
	}
	if few != nil {
		warnings = append(warnings, fmt.Sprintf("the calibration has fewer than %d broken or good answers in %s: %s",
			fewLabels, text.Plural(len(few), "language"), strings.Join(few, ", ")))
	}
	adjusted, err := stats.Holm(ps)
	if err != nil {
		return warnings
	}
	for i, d := range differences {
		if adjusted[i] <= 1-scoring.Level95 {
			warnings = append(warnings, fmt.Sprintf("the judge errs otherwise in %s than in other languages: "+
				"it %s %s %s there, and %s elsewhere; the corrected rate is for answers in the languages of the "+
				"calibration, in the same shares", d.language, d.verb, d.own, d.kind, d.others))
		}
	}
	return warnings
}

// inWords names a language.
func inWords(language string) string {
	if language == "" {
		return "a language that is not known"
	}
	return language
}
