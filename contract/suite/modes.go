package suite

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// The lists of a scenario in which modes stand.
const (
	toolFaults     = "tool_faults"
	llmFaults      = "llm_faults"
	contextAttacks = "context_attacks"
)

// A mode is what an entry of one of the lists does.
type mode struct {
	list, name, text string
	params           reflect.Type
	// fault makes the fault of an entry. nil: rewrite is set.
	fault   func(e *entry, params any) chaos.Fault
	rewrite func(params any) func(prompt string) string
}

// Parameters of modes.
type (
	delay struct {
		DelayMS int `json:"delay_ms,omitempty" bounds:"min=1,max=1000000000" doc:"the wait, in milliseconds"`
	}
	errorParams struct {
		Code    int    `json:"error_code,omitempty" bounds:"min=400,max=599" doc:"the status; left out: 503"`
		Message string `json:"message,omitempty" doc:"the text of the error; left out: that of the status"`
	}
	payload struct {
		Payload string `json:"payload,omitempty" doc:"the instruction; left out: a usual one"`
	}
	tokens struct {
		MaxTokens int `json:"max_tokens,omitempty" bounds:"min=1,max=1000000" doc:"at four characters each; left out: 10"`
	}
	drift struct {
		Type string `json:"drift_type,omitempty" doc:"how the style changes; left out: json_field_rename"`
	}
	poison struct {
		Payload  string `json:"payload" bounds:"min=1" doc:"the text that comes into the prompt"`
		Strategy string `json:"strategy,omitempty" bounds:"enum=prepend|append|replace" doc:"left out: append"`
	}
	injection struct {
		Tool        string   `json:"tool,omitempty" doc:"a glob of tools; left out: all"`
		Payloads    []string `json:"payloads,omitempty" doc:"instructions, of which a call draws one; left out: usual ones"`
		Probability *float64 `json:"trigger_probability,omitempty" doc:"the share of calls, 0 to 1; left out: all"`
	}
)

// modes are what lists of faults may have, in the order of the documentation.
func modes() []mode {
	return []mode{
		oneFault(toolFaults, "timeout", "The call times out before it reaches its tool, after 30 s.",
			func(_ *entry, p *delay) chaos.Fault { return fault.Timeout(p.or(30 * time.Second)) }),
		oneFault(toolFaults, "slow", "The call takes 5 s longer.",
			func(_ *entry, p *delay) chaos.Fault { return fault.Delay(p.or(5 * time.Second)) }),
		oneFault(toolFaults, "error", "The call fails with a status.", func(e *entry, p *errorParams) chaos.Fault {
			if p.Message != "" && e.MatchURL == "" { // the caller of a tool gets a text and no body
				return fault.Fail(fmt.Errorf("HTTP %d: %s", cmp.Or(p.Code, 503), p.Message))
			}
			return chaoshttp.Status(cmp.Or(p.Code, 503), &chaoshttp.StatusOptions{Body: p.Message})
		}),
		oneFault(toolFaults, "malformed", "The result is no longer JSON.", func(e *entry, _ *none) chaos.Fault {
			if e.MatchURL != "" {
				return chaoshttp.MalformedJSON()
			}
			return lies.Malformed()
		}),
		oneFault(toolFaults, "malicious_response", "The result holds an instruction.",
			func(_ *entry, p *payload) chaos.Fault { return lies.Inject(attack(p.Payload)) }),

		oneFault(llmFaults, "timeout", "The model does not answer, and the call times out after 30 s.",
			func(_ *entry, p *delay) chaos.Fault { return fault.Timeout(p.or(30 * time.Second)) }),
		oneFault(llmFaults, "truncated_response", "The answer ends as at its token limit.",
			func(_ *entry, p *tokens) chaos.Fault { return chaoshttp.CutCompletion(4 * cmp.Or(p.MaxTokens, 10)) }),
		oneFault(llmFaults, "rate_limit", "The provider refuses the call as one too many.",
			func(e *entry, _ *none) chaos.Fault {
				return chaoshttp.APIError(chaoshttp.API(e.API), chaoshttp.KindRateLimit, nil)
			}),
		oneFault(llmFaults, "empty", "The answer is empty.",
			func(*entry, *none) chaos.Fault { return chaoshttp.EmptyCompletion() }),
		oneFault(llmFaults, "garbage", "The answer is gibberish.",
			func(*entry, *none) chaos.Fault { return chaoshttp.GarbleCompletion() }),
		oneFault(llmFaults, "response_drift", "The answer comes in another style.",
			func(_ *entry, p *drift) chaos.Fault { return p.fault() }),

		{list: contextAttacks, name: "memory_poisoning", text: "Each prompt has a text that is not the user's.",
			params:  reflect.TypeFor[poison](),
			rewrite: func(params any) func(string) string { return params.(*poison).rewrite }},
		oneFault(contextAttacks, "indirect_injection", "Results of tools hold an instruction.",
			func(_ *entry, p *injection) chaos.Fault { return lies.Inject(attack(p.Payloads...)) }),
	}
}

func oneFault[P any](list, name, text string, make func(e *entry, p *P) chaos.Fault) mode {
	return mode{list: list, name: name, text: text, params: reflect.TypeFor[P](),
		fault: func(e *entry, params any) chaos.Fault { return make(e, params.(*P)) }}
}

func (p *delay) or(usual time.Duration) time.Duration {
	return cmp.Or(time.Duration(p.DelayMS)*time.Millisecond, usual)
}

// attack adds one of the texts; none, or an empty one: a usual one.
func attack(texts ...string) lies.Attack {
	if len(texts) == 1 && texts[0] == "" {
		return lies.Attack{}
	}
	return lies.Attack{Texts: texts}
}

// drifts are the values of drift_type. The first is the default.
var drifts = []string{"json_field_rename", "verbosity_shift", "format_change", "refusal_rephrase", "tone_shift"}

func (p *drift) fault() chaos.Fault {
	switch p.Type {
	case "verbosity_shift":
		return chaoshttp.DriftCompletion(chaoshttp.DriftVerbosity)
	case "format_change":
		return chaoshttp.DriftCompletion(chaoshttp.DriftFormat)
	case "tone_shift":
		return chaoshttp.DriftCompletion(chaoshttp.DriftTone)
	case "refusal_rephrase":
		return chaoshttp.RefuseCompletion("")
	}
	return chaoshttp.DriftCompletion(chaoshttp.DriftKeys)
}

func (p *poison) rewrite(prompt string) string {
	switch p.Strategy {
	case "replace":
		return p.Payload
	case "prepend":
		return p.Payload + "\n\n" + prompt
	}
	return prompt + "\n\n" + p.Payload
}

// urlTarget is the glob of injection points for requests to URLs that match a glob.
func urlTarget(url string) string {
	for _, scheme := range []string{"https://", "http://"} {
		if rest, ok := strings.CutPrefix(url, scheme); ok {
			return "[A-Z]* " + rest
		}
	}
	return "[A-Z]* " + url
}
