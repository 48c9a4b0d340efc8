package scenarios

import (
	"fmt"
	"strconv"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/cover"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// maxLevels bounds the rules of all choices, and with them the time and the scenarios.
const maxLevels = 200

// Combine makes scenarios of choices. Each choice is a list of rules, of which a scenario
// has one or none. With strength 1 each rule is in at least one scenario. With
// strength 2 every two rules of different choices are in one together, and each rule is
// in one without any of another choice. The scenarios are the rows of a covering array,
// so they are far fewer than all combinations: of ten choices of three rules, about
// thirty in place of a million. A scenario without rules is left out: that is
// [contract.Calm].
//
// The names are "combined-1" and so on. Equal choices give equal scenarios. Another
// choice or rule changes which rules a name stands for, and the draws of the scenario
// with them.
//
// The error joins every problem, each a [*contract.FieldError]: a strength other than 1
// and 2, no choice, a choice without rules, a rule that is not valid, and more than 200
// rules in all. Rules of one scenario that do not fit each other, such as two of one
// name, are errors of [contract.Matrix.Validate].
//
// The array is the smaller of a greedy one, as in "The AETG System" (Cohen, Dalal, Fredman
// and Patton, IEEE TSE 1997), and of one from a finite field.
func Combine(strength int, choices ...[]chaos.Rule) ([]contract.Scenario, error) {
	p := fields.List()
	if strength != 1 && strength != 2 {
		p.Wrong("Combine: strength", strength, "1 or 2")
	}
	if len(choices) == 0 {
		p.Wrong("Combine: choices", fielderror.Found("empty"), "at least one")
	}
	levels, total := make([]int, len(choices)), 0
	for i, rules := range choices {
		field := fmt.Sprintf("Combine: choices[%d]", i)
		if len(rules) == 0 {
			p.Wrong(field, fielderror.Found("empty"), "at least one rule")
		}
		for k, r := range rules {
			if _, err := chaos.NewPlan(0, r); err != nil {
				p.Each(field+"["+strconv.Itoa(k)+"]", err)
			}
		}
		levels[i] = len(rules) + 1 // level 0 is none of them
		total += len(rules)
	}
	if total > maxLevels {
		p.Wrong("Combine: choices", fielderror.Found(fmt.Sprintf("with %d rules", total)),
			fmt.Sprintf("at most %d", maxLevels))
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return combined(cover.Rows(levels, strength), choices), nil
}

// combined makes a scenario of each row that has rules.
func combined(rows [][]int, choices [][]chaos.Rule) (made []contract.Scenario) {
	for _, row := range rows {
		var rules []chaos.Rule
		for i, level := range row {
			if level > 0 {
				rules = append(rules, choices[i][level-1])
			}
		}
		if len(rules) > 0 {
			made = append(made, contract.Scenario{Name: "combined-" + strconv.Itoa(len(made)+1), Rules: rules})
		}
	}
	return made
}
