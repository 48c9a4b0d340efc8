package mutate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// Unchanged is a prompt that a mutation left as it is. In its scenario it is sent so, and
// does not count as delivered.
type Unchanged struct {
	Scenario string `json:"scenario"`
	Prompt   string `json:"prompt"`
	Why      string `json:"why"` // as a phrase
}

// asItWas is the usual reason of [Unchanged].
const asItWas = "it came out as it was"

// Scenarios makes the texts of all prompts, and returns a scenario for each mutation: kinds
// in the order of [Kinds] and of Own, variants in order. Its Rewrite knows these prompts,
// and leaves any other text as it is: give the probes of invariants too, if they are to be
// sent in other words. With rules, each scenario has them: the same words meet faults.
//
// A scenario without rules all of whose texts are unchanged has AllowUndelivered: it cannot
// deliver anything, and the list says so.
//
// A mutator that fails, panics or does not return when ctx ends is an error; the scenarios
// of the other mutations are returned all the same. All errors are joined: a
// [*FieldError] for each mutator and each prompt that is not allowed, and the cause of ctx.
// Prompts are valid UTF-8; one that is there twice is made once.
func (s *Set) Scenarios(ctx context.Context, prompts []string, rules ...chaos.Rule) (
	scenarios []contract.Scenario, unchanged []Unchanged, err error,
) {
	p := fields.List()
	p.Demand(len(prompts) > 0, "prompts", fielderror.Found("empty"), "one or more")
	for i, prompt := range prompts {
		if !utf8.ValidString(prompt) {
			p.Wrong(fmt.Sprintf("prompts[%d]", i), prompt, "valid UTF-8")
		}
	}
	if p.Count() > 0 {
		return nil, nil, p.Err()
	}
	made := newTexts(prompts)
	failed := map[*kind]error{} // the first error of each
	for _, m := range s.mutations {
		texts, why, err := s.texts(ctx, m, made)
		switch {
		case ctx.Err() != nil:
			p.Add(context.Cause(ctx))
			return scenarios, unchanged, p.Err()
		case err != nil:
			if failed[m.kind] == nil {
				failed[m.kind] = err
			}
			continue
		}
		scenario := contract.Under(m.scenario(), rules...)
		scenario.Rewrite = func(prompt string) string {
			if i, known := made.index[prompt]; known {
				return texts[i]
			}
			return prompt
		}
		for i, reason := range why {
			if reason != "" {
				unchanged = append(unchanged, Unchanged{scenario.Name, made.prompts[i].raw, reason})
			}
		}
		scenario.AllowUndelivered = len(rules) == 0 && !slices.Contains(why, "")
		scenarios = append(scenarios, scenario)
	}
	for i := range s.kinds {
		if k := &s.kinds[i]; failed[k] != nil {
			p.Because(fmt.Sprintf("Own[%d]", k.index), k.Name, failed[k], "a mutator that returns a text or ErrRefused")
		}
	}
	return scenarios, unchanged, p.Err()
}

// texts are the prompts of one call of Scenarios.
type texts struct {
	prompts []*prompt
	hashes  []uint64
	index   map[string]int
}

func newTexts(prompts []string) *texts {
	t := &texts{index: make(map[string]int, len(prompts))}
	for _, raw := range prompts {
		if _, twice := t.index[raw]; twice {
			continue
		}
		t.index[raw] = len(t.prompts)
		t.prompts = append(t.prompts, parse(raw))
		t.hashes = append(t.hashes, hash.String(raw))
	}
	return t
}

// texts makes those of one mutation. why has the reason for each that is unchanged.
func (s *Set) texts(ctx context.Context, m mutation, t *texts) (made, why []string, err error) {
	made, why = make([]string, len(t.prompts)), make([]string, len(t.prompts))
	for i, p := range t.prompts {
		d := newDraw(s.seed, m.kind.Name, m.variant, t.hashes[i], m.kind.Strength)
		if m.kind.own == nil {
			made[i] = m.kind.mutate(p, d)
		} else if made[i], err = ask(ctx, m.kind.own, p.raw, d); errors.Is(err, ErrRefused) {
			made[i], why[i] = p.raw, err.Error()
			continue
		} else if err != nil {
			return nil, nil, fmt.Errorf("variant %d of prompt %q: %w", m.variant, p.raw, err)
		}
		if made[i] == p.raw {
			why[i] = asItWas
		}
	}
	return made, why, nil
}

// ask calls a mutator of the user.
func ask(ctx context.Context, m Mutator, prompt string, d Draw) (string, error) {
	o := usercode.Options[string]{Grace: usercode.Patient(time.Second)}
	made, err, _ := usercode.Do(ctx, o, func(ctx context.Context) (string, error) { return m.Mutate(ctx, prompt, d) })
	if err == nil && !utf8.ValidString(made) {
		return "", errors.New("the text is not valid UTF-8")
	}
	return made, err
}
