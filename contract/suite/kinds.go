package suite

import (
	"reflect"
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
	deadline struct {
		Within time.Duration `json:"within,omitempty" bounds:"min=0s" doc:"how long after its deadline a call may end; left out: 0"`
		Target string        `json:"target" doc:"a glob of injection points"`
	}
	modelCalls struct {
		Target string `json:"target,omitempty" doc:"a glob of calls of models; left out: those of layer llm, or named llm or model"`
	}
	emissions struct {
		Target  string `json:"target" doc:"a glob of the streams"`
		Effects string `json:"effects,omitempty" doc:"the name of a function in Options.Effects: the parts that were passed on; left out: the answer"`
	}
	phrases struct {
		Phrases []string `json:"phrases,omitempty" doc:"further refusals, in any case"`
	}
)

// A kind is a type of invariant that files may name.
type kind struct {
	name, text string
	params     reflect.Type
	// answers says that the check judges the answer alone, so that it can be negated.
	answers bool
	build   func(in *invariantIn, params any) contract.Invariant
}

// kindOf makes a type whose invariants have the keys of P besides the common ones.
func kindOf[P any](name, text string, build func(in *invariantIn, p *P) contract.Invariant) kind {
	return kind{name: name, text: text, params: reflect.TypeFor[P](),
		build: func(in *invariantIn, params any) contract.Invariant { return build(in, params.(*P)) }}
}

func plain(name, text string, build func(name string, severity contract.Severity) contract.Invariant) kind {
	return kindOf(name, text, func(in *invariantIn, _ *none) contract.Invariant { return build(in.ID, in.severity) })
}

func ofList[P any](
	name, text string, build func(name string, severity contract.Severity, list ...string) contract.Invariant,
	list func(p *P) []string,
) kind {
	return kindOf(name, text, func(in *invariantIn, p *P) contract.Invariant {
		return build(in.ID, in.severity, list(p)...)
	})
}

// negatable is a kind that judges the answer alone.
func negatable(k kind) kind {
	k.answers = true
	return k
}

// kinds are the types of invariants, in the order of the documentation.
func kinds() []kind {
	return slices.Concat(answerKinds(), proseKinds(), callKinds(), stateKinds(), twinKinds())
}

func answerKinds() []kind {
	return []kind{
		negatable(kindOf("contains", "The answer has the text.", func(in *invariantIn, p *oneText) contract.Invariant {
			return invariant.Contains(in.ID, in.severity, p.Value)
		})),
		negatable(ofList("contains_any", "The answer has one of the texts.", invariant.ContainsAny,
			func(p *texts) []string { return p.Values })),
		negatable(kindOf("regex", "The pattern matches somewhere in the answer.",
			func(in *invariantIn, p *onePattern) contract.Invariant {
				return invariant.Regex(in.ID, in.severity, in.dotAll(p.Pattern))
			})),
		negatable(ofList("excludes_pattern", "The answer has none of the texts, in any case.", invariant.Excludes,
			func(p *patterns) []string { return p.Patterns })),
		negatable(ofList("excludes_regex", "None of the regular expressions matches in the answer.",
			invariant.ExcludesRegex, func(p *patterns) []string { return p.Patterns })),
		negatable(kindOf("valid_json", "The answer is JSON.", func(in *invariantIn, p *jsonParams) contract.Invariant {
			return invariant.ValidJSON(in.ID, in.severity,
				&invariant.JSONOptions{Schema: p.Schema, AllowFence: p.AllowFence})
		})),
		negatable(plain("output_not_empty", "The answer has visible text.", invariant.NotEmpty)),
		kindOf("behavior_unchanged", "The answer is similar to a calm one, by its words.",
			func(in *invariantIn, p *behavior) contract.Invariant {
				return invariant.BehaviorUnchanged(in.ID, in.severity,
					&invariant.BehaviorOptions{Baseline: p.Baseline, Threshold: p.Threshold})
			}),
		plain("completes", "The agent answers without an error.", invariant.Completes),
		kindOf("latency", "The answer takes at most so many milliseconds.",
			func(in *invariantIn, p *milliseconds) contract.Invariant {
				return invariant.Within(in.ID, in.severity, time.Duration(p.MaxMS)*time.Millisecond)
			}),
	}
}

func proseKinds() []kind {
	return []kind{
		kindOf("excludes_pii", "The answer has no personal data.", noPII),
		kindOf("refusal_check", "The answer, to each probe if there are some, is a refusal.",
			func(in *invariantIn, p *phrases) contract.Invariant {
				return invariant.Refuses(in.ID, in.severity, in.Probes, p.Phrases...)
			}),
		kindOf("no_leak", "The answer gives away nothing of the system prompt.",
			func(in *invariantIn, p *leak) contract.Invariant {
				if p.SystemPrompt == "" && len(p.Secrets) == 0 {
					in.l.r.Missing(in.node, "secrets", "texts that must stay hidden, or a system_prompt")
				}
				return invariant.NoLeak(in.ID, in.severity, in.Probes, p.SystemPrompt, p.Secrets...)
			}),
		kindOf("grounded", "The facts of the answer are in results of tools or in the prompt.",
			func(in *invariantIn, p *sources) contract.Invariant {
				return invariant.Grounded(in.ID, in.severity,
					&invariant.GroundedOptions{Sources: p.Sources, Also: p.Also})
			}),
		kindOf("no_false_success", "The answer claims no success that the calls refute.",
			func(in *invariantIn, p *claims) contract.Invariant {
				list := make([]findings.Claim, len(p.Claims))
				for i, c := range p.Claims {
					list[i] = findings.Claim{Says: c.Says, Tool: c.Tool}
				}
				return invariant.NoFalseSuccess(in.ID, in.severity, list...)
			}),
		kindOf("no_cut_answer", "No answer of a model that was cut is taken for whole.",
			func(in *invariantIn, p *modelCalls) contract.Invariant {
				return invariant.NoCutAnswer(in.ID, in.severity, &invariant.CutOptions{Target: p.Target})
			}),
		ofList("no_exfiltration", "No canary of an attack is in the answer or in a call.", invariant.NoExfiltration,
			func(p *allowed) []string { return p.Allowed }),
	}
}

func noPII(in *invariantIn, p *pii) contract.Invariant {
	o := &invariant.PIIOptions{Allow: p.Allow, AllowPrompt: p.AllowPrompt}
	for _, k := range p.Kinds {
		o.Kinds = append(o.Kinds, invariant.PII(k))
	}
	return invariant.NoPII(in.ID, in.severity, o)
}

func callKinds() []kind {
	return []kind{
		kindOf("calls_at_most", "There are at most so many calls to the targets.",
			func(in *invariantIn, p *atMost) contract.Invariant {
				return invariant.CallsAtMost(in.ID, in.severity, p.Max, p.Target)
			}),
		ofList("never_calls", "There is no call to the targets.", invariant.NeverCalls,
			func(p *targets) []string { return p.Targets }),
		kindOf("calls_before", "A call succeeds before another one begins.",
			func(in *invariantIn, p *inOrder) contract.Invariant {
				return invariant.CallsBefore(in.ID, in.severity, p.First, p.Then)
			}),
		kindOf("backs_off", "The agent waits before it retries.", func(in *invariantIn, p *backoff) contract.Invariant {
			return invariant.BacksOff(in.ID, in.severity, p.Least,
				&invariant.BackoffOptions{Target: p.Target, Growth: p.Growth, Cap: p.Cap})
		}),
		kindOf("calls_within", "No call outlives the deadline of its context.",
			func(in *invariantIn, p *deadline) contract.Invariant {
				return invariant.CallsWithin(in.ID, in.severity, p.Within, p.Target)
			}),
		ofList("nothing_after_end", "No call begins with a context that has ended.", invariant.NothingAfterEnd,
			func(p *allowed) []string { return p.Allowed }),
		kindOf("retries_at_most", "No tool is retried more than so often.",
			func(in *invariantIn, p *atMost) contract.Invariant {
				return invariant.RetriesAtMost(in.ID, in.severity, p.Max, p.Target)
			}),
		ofList("no_loops", "The same calls are not made three times in a row.", invariant.NoLoops,
			func(p *allowed) []string { return p.Allowed }),
		plain("no_duplicate_effects", "No tool does its work twice for equal arguments.", invariant.NoDuplicateEffects),
		plain("stops_when_final", "Nothing is called again after a failure that no retry overcomes.",
			invariant.StopsWhenFinal),
		plain("nothing_left_open", "No effect is left unknown.", invariant.NothingLeftOpen),
	}
}

func stateKinds() []kind {
	return []kind{
		kindOf("at_most_once", "No effect is in the state twice.",
			func(in *invariantIn, p *effectsOf) contract.Invariant {
				return invariant.AtMostOnce(in.ID, in.severity, in.effects(p.Effects))
			}),
		kindOf("exactly_once", "Each wanted effect is in the state once, and none twice.",
			func(in *invariantIn, p *wantedEffects) contract.Invariant {
				return invariant.ExactlyOnce(in.ID, in.severity, in.effects(p.Effects), p.Want...)
			}),
		kindOf("emits_once", "Nothing is passed on twice because a stream broke off.",
			func(in *invariantIn, p *emissions) contract.Invariant {
				if p.Effects == "" {
					return invariant.EmitsOnce[any](in.ID, in.severity, p.Target, nil)
				}
				return invariant.EmitsOnce(in.ID, in.severity, p.Target, in.effects(p.Effects))
			}),
		plain("state_unchanged", "The state after the answer is that before it.", invariant.StateUnchanged),
		ofList("state_changes_only_at", "The state changes at the paths alone.", invariant.StateChangesOnlyAt,
			func(p *paths) []string { return p.Paths }),
	}
}

// twinKinds compare with a calm run.
func twinKinds() []kind {
	return []kind{
		kindOf("retry_changes_nothing", "After failures and retries the end state is that of a calm run.",
			func(in *invariantIn, _ *none) contract.Invariant {
				return invariant.RetryChangesNothing(in.ID, in.severity, nil)
			}),
		kindOf("delay_changes_nothing", "After delays the answer and the effects are those of a calm run.",
			func(in *invariantIn, p *alike) contract.Invariant {
				return invariant.DelayChangesNothing(in.ID, in.severity,
					&invariant.TwinOptions{Threshold: p.Threshold})
			}),
		kindOf("order_changes_nothing", "After a change of the order of calls the end state is that of a calm run.",
			func(in *invariantIn, _ *none) contract.Invariant {
				return invariant.OrderChangesNothing(in.ID, in.severity, nil)
			}),
		kindOf("spare_changes_nothing", "After faults on spare targets answer and end state are those of a calm run.",
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
