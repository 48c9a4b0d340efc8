package suite

import (
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// Parameters that several kinds have.
type (
	none    struct{}
	oneText struct {
		Value string `json:"value" bounds:"min=1" doc:"the text, in any case"`
	}
	texts struct {
		Values []string `json:"values" doc:"the texts, in any case"`
	}
	patterns struct {
		Patterns []string `json:"patterns" doc:"what the answer must not have"`
	}
	onePattern struct {
		Pattern string `json:"pattern" doc:"a regular expression of package regexp; a dot matches line ends"`
	}
	jsonParams struct {
		Schema     string `json:"schema,omitempty" doc:"a JSON Schema, as a text"`
		AllowFence bool   `json:"allow_fence,omitempty" doc:"one Markdown fence around the answer is removed"`
	}
	milliseconds struct {
		MaxMS int `json:"max_ms" bounds:"min=1,max=1000000000" doc:"the longest time that holds, in milliseconds"`
	}
	behavior struct {
		Baseline  string   `json:"baseline,omitempty" doc:"the answer to compare with; auto or left out: a calm one"`
		Threshold *float64 `json:"similarity_threshold,omitempty" doc:"the least that holds, 0 to 1; left out: 0.75"`
	}
	effectsOf struct {
		Effects string `json:"effects" doc:"the name of a function in Options.Effects"`
	}
	wantedEffects struct {
		Effects string   `json:"effects" doc:"the name of a function in Options.Effects"`
		Want    []string `json:"want,omitempty" doc:"the effects that must be there"`
	}
	atMost struct {
		Max    int    `json:"max" bounds:"min=0" doc:"the largest number that holds"`
		Target string `json:"target" doc:"a glob of injection points"`
	}
	inOrder struct {
		First string `json:"first" doc:"a glob of what must have succeeded before"`
		Then  string `json:"then" doc:"a glob of what comes after"`
	}
	targets struct {
		Targets []string `json:"targets" doc:"globs of injection points"`
	}
	allowed struct {
		Allowed []string `json:"allowed,omitempty" doc:"globs of targets that may"`
	}
	backoff struct {
		Least  time.Duration `json:"least" bounds:"min=1ms" doc:"the least wait before a retry"`
		Target string        `json:"target,omitempty" doc:"a glob of targets; left out: all"`
		Growth float64       `json:"growth,omitempty" bounds:"over=0" doc:"the least factor from wait to wait; left out: 1.1"`
		Cap    time.Duration `json:"cap,omitempty" bounds:"min=1ms" doc:"the wait from which on waits need not grow"`
	}
	claims struct {
		Claims []claimed `json:"claims" doc:"statements with the tool that decides them"`
	}
	claimed struct {
		Says string `json:"says" doc:"a regular expression for the claim"`
		Tool string `json:"tool" doc:"the tool whose last call decides"`
	}
	leak struct {
		SystemPrompt string   `json:"system_prompt,omitempty" doc:"the text that must stay hidden; without a judge, give secrets alone"`
		Secrets      []string `json:"secrets,omitempty" doc:"texts that must stay hidden"`
	}
	pii struct {
		Kinds       []string `json:"kinds,omitempty" doc:"email, card, iban, ssn, phone, ip; left out: all"`
		Allow       []string `json:"allow,omitempty" doc:"values that are not personal"`
		AllowPrompt bool     `json:"allow_prompt,omitempty" doc:"what the prompt has is allowed"`
	}
	sources struct {
		Sources string   `json:"sources,omitempty" doc:"a glob of the tools whose results count; left out: all"`
		Also    []string `json:"also,omitempty" doc:"further texts that facts may come from"`
	}
	paths struct {
		Paths []string `json:"paths" doc:"JSON paths (RFC 9535) at which the state may change"`
	}
	alike struct {
		Threshold *float64 `json:"threshold,omitempty" doc:"the least similarity of answers, 0 to 1; left out: 0.75"`
	}
	spare struct {
		Targets   []string `json:"targets" doc:"globs of targets that the task does not need"`
		Threshold *float64 `json:"threshold,omitempty" doc:"the least similarity of answers, 0 to 1; left out: 0.75"`
	}
	phrases struct {
		Phrases []string `json:"phrases,omitempty" doc:"further refusals, in any case"`
	}
)

// kinds are the types of invariants, in the order of the documentation.
func kinds() []Kind {
	return slices.Concat(answerKinds(), proseKinds(), callKinds(), stateKinds(), twinKinds())
}

// answerKinds judge the answer.
func answerKinds() []Kind {
	return []Kind{
		answerKind("contains", "The answer has the text.", func(in *invariantIn, p *oneText) contract.Invariant {
			return invariant.Contains(in.ID, in.severity, p.Value)
		}),
		answerKind("contains_any", "The answer has one of the texts.",
			func(in *invariantIn, p *texts) contract.Invariant {
				return invariant.ContainsAny(in.ID, in.severity, p.Values...)
			}),
		answerKind("regex", "The pattern matches somewhere in the answer.",
			func(in *invariantIn, p *onePattern) contract.Invariant {
				return invariant.Regex(in.ID, in.severity, in.dotAll(p.Pattern))
			}),
		answerKind("excludes_pattern", "The answer has none of the texts, in any case.",
			func(in *invariantIn, p *patterns) contract.Invariant {
				return invariant.Excludes(in.ID, in.severity, p.Patterns...)
			}),
		answerKind("excludes_regex", "None of the regular expressions matches in the answer.",
			func(in *invariantIn, p *patterns) contract.Invariant {
				return invariant.ExcludesRegex(in.ID, in.severity, p.Patterns...)
			}),
		answerKind("valid_json", "The answer is JSON.", func(in *invariantIn, p *jsonParams) contract.Invariant {
			return invariant.ValidJSON(in.ID, in.severity,
				&invariant.JSONOptions{Schema: p.Schema, AllowFence: p.AllowFence})
		}),
		answerKind("output_not_empty", "The answer has visible text.",
			func(in *invariantIn, _ *none) contract.Invariant { return invariant.NotEmpty(in.ID, in.severity) }),
		kind("behavior_unchanged", "The answer is similar to a calm one, by its words.",
			func(in *invariantIn, p *behavior) contract.Invariant {
				return invariant.BehaviorUnchanged(in.ID, in.severity,
					&invariant.BehaviorOptions{Baseline: p.Baseline, Threshold: p.Threshold})
			}),
		kind("completes", "The agent answers without an error.", func(in *invariantIn, _ *none) contract.Invariant {
			return invariant.Completes(in.ID, in.severity)
		}),
		kind("latency", "The answer takes at most so many milliseconds.",
			func(in *invariantIn, p *milliseconds) contract.Invariant {
				return invariant.Within(in.ID, in.severity, time.Duration(p.MaxMS)*time.Millisecond)
			}),
	}
}

// proseKinds read the answer as prose.
func proseKinds() []Kind {
	return []Kind{
		kind("excludes_pii", "The answer has no personal data.", noPII),
		kind("refusal_check", "The answer, to each probe if there are some, is a refusal.",
			func(in *invariantIn, p *phrases) contract.Invariant {
				return invariant.Refuses(in.ID, in.severity, in.Probes, p.Phrases...)
			}),
		kind("no_leak", "The answer gives away nothing of the system prompt.",
			func(in *invariantIn, p *leak) contract.Invariant {
				if p.SystemPrompt == "" && len(p.Secrets) == 0 {
					in.l.r.Missing(in.node, "secrets", "texts that must stay hidden, or a system_prompt")
				}
				return invariant.NoLeak(in.ID, in.severity, in.Probes, p.SystemPrompt, p.Secrets...)
			}),
		kind("grounded", "The facts of the answer are in results of tools or in the prompt.",
			func(in *invariantIn, p *sources) contract.Invariant {
				return invariant.Grounded(in.ID, in.severity,
					&invariant.GroundedOptions{Sources: p.Sources, Also: p.Also})
			}),
		kind("no_false_success", "The answer claims no success that the calls refute.",
			func(in *invariantIn, p *claims) contract.Invariant {
				list := make([]findings.Claim, len(p.Claims))
				for i, c := range p.Claims {
					list[i] = findings.Claim{Says: c.Says, Tool: c.Tool}
				}
				return invariant.NoFalseSuccess(in.ID, in.severity, list...)
			}),
		kind("no_exfiltration", "No canary of an attack is in the answer or in a call.",
			func(in *invariantIn, p *allowed) contract.Invariant {
				return invariant.NoExfiltration(in.ID, in.severity, p.Allowed...)
			}),
	}
}

func noPII(in *invariantIn, p *pii) contract.Invariant {
	o := &invariant.PIIOptions{Allow: p.Allow, AllowPrompt: p.AllowPrompt}
	for _, k := range p.Kinds {
		o.Kinds = append(o.Kinds, invariant.PII(k))
	}
	return invariant.NoPII(in.ID, in.severity, o)
}

// callKinds judge the calls.
func callKinds() []Kind {
	return []Kind{
		kind("calls_at_most", "There are at most so many calls to the targets.",
			func(in *invariantIn, p *atMost) contract.Invariant {
				return invariant.CallsAtMost(in.ID, in.severity, p.Max, p.Target)
			}),
		kind("never_calls", "There is no call to the targets.", func(in *invariantIn, p *targets) contract.Invariant {
			return invariant.NeverCalls(in.ID, in.severity, p.Targets...)
		}),
		kind("calls_before", "A call succeeds before another one begins.",
			func(in *invariantIn, p *inOrder) contract.Invariant {
				return invariant.CallsBefore(in.ID, in.severity, p.First, p.Then)
			}),
		kind("backs_off", "The agent waits before it retries.", func(in *invariantIn, p *backoff) contract.Invariant {
			return invariant.BacksOff(in.ID, in.severity, p.Least,
				&invariant.BackoffOptions{Target: p.Target, Growth: p.Growth, Cap: p.Cap})
		}),
		kind("retries_at_most", "No tool is retried more than so often.",
			func(in *invariantIn, p *atMost) contract.Invariant {
				return invariant.RetriesAtMost(in.ID, in.severity, p.Max, p.Target)
			}),
		kind("no_loops", "The same calls are not made three times in a row.",
			func(in *invariantIn, p *allowed) contract.Invariant {
				return invariant.NoLoops(in.ID, in.severity, p.Allowed...)
			}),
		kind("no_duplicate_effects", "No tool does its work twice for equal arguments.",
			func(in *invariantIn, _ *none) contract.Invariant {
				return invariant.NoDuplicateEffects(in.ID, in.severity)
			}),
		kind("stops_when_final", "Nothing is called again after a failure that no retry overcomes.",
			func(in *invariantIn, _ *none) contract.Invariant { return invariant.StopsWhenFinal(in.ID, in.severity) }),
		kind("nothing_left_open", "No effect is left unknown.",
			func(in *invariantIn, _ *none) contract.Invariant {
				return invariant.NothingLeftOpen(in.ID, in.severity)
			}),
	}
}

// stateKinds judge the state of the world.
func stateKinds() []Kind {
	return []Kind{
		kind("at_most_once", "No effect is in the state twice.",
			func(in *invariantIn, p *effectsOf) contract.Invariant {
				return invariant.AtMostOnce(in.ID, in.severity, in.effects(p.Effects))
			}),
		kind("exactly_once", "Each wanted effect is in the state once, and none twice.",
			func(in *invariantIn, p *wantedEffects) contract.Invariant {
				return invariant.ExactlyOnce(in.ID, in.severity, in.effects(p.Effects), p.Want...)
			}),
		kind("state_unchanged", "The state after the answer is that before it.",
			func(in *invariantIn, _ *none) contract.Invariant { return invariant.StateUnchanged(in.ID, in.severity) }),
		kind("state_changes_only_at", "The state changes at the paths alone.",
			func(in *invariantIn, p *paths) contract.Invariant {
				return invariant.StateChangesOnlyAt(in.ID, in.severity, p.Paths...)
			}),
	}
}

// twinKinds compare with a calm run.
func twinKinds() []Kind {
	return []Kind{
		kind("retry_changes_nothing", "After failures and retries the end state is that of a calm run.",
			func(in *invariantIn, _ *none) contract.Invariant {
				return invariant.RetryChangesNothing(in.ID, in.severity, nil)
			}),
		kind("delay_changes_nothing", "After delays the answer and the effects are those of a calm run.",
			func(in *invariantIn, p *alike) contract.Invariant {
				return invariant.DelayChangesNothing(in.ID, in.severity,
					&invariant.TwinOptions{Threshold: p.Threshold})
			}),
		kind("order_changes_nothing", "After a change of the order of calls the end state is that of a calm run.",
			func(in *invariantIn, _ *none) contract.Invariant {
				return invariant.OrderChangesNothing(in.ID, in.severity, nil)
			}),
		kind("spare_changes_nothing", "After faults on spare targets answer and end state are those of a calm run.",
			func(in *invariantIn, p *spare) contract.Invariant {
				return invariant.SpareChangesNothing(in.ID, in.severity, p.Targets,
					&invariant.TwinOptions{Threshold: p.Threshold})
			}),
	}
}

// played counts the effects of a played session as the tools declare them, and those of
// any other state by own.
func played(own func(state any) []string) func(state any) []string {
	return func(state any) []string {
		if done, ok := state.(replay.Effects); ok {
			return done.Names()
		}
		return own(state)
	}
}
