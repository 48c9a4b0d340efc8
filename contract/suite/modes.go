package suite

import (
	"cmp"
	"fmt"
	"reflect"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// The lists of a scenario in which modes stand.
const (
	toolFaults = "tool_faults"
	llmFaults  = "llm_faults"
)

// A mode is what an entry of one of the lists does.
type mode struct {
	list, name, text string
	params           reflect.Type
	fault            func(api chaoshttp.API, params any) chaos.Fault
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
		Type string `json:"drift_type,omitempty" bounds:"enum=json_field_rename|verbosity_shift|format_change|refusal_rephrase|tone_shift" doc:"how the style changes; left out: json_field_rename"`
	}
)

// modes are what lists of faults may have, in the order of the documentation.
func modes() []mode {
	return []mode{
		oneFault(toolFaults, "timeout", "The call times out before it reaches its tool, after 30 s.",
			func(p *delay) chaos.Fault { return fault.Timeout(p.or(30 * time.Second)) }),
		oneFault(toolFaults, "slow", "The call takes 5 s longer.",
			func(p *delay) chaos.Fault { return fault.Delay(p.or(5 * time.Second)) }),
		oneFault(toolFaults, "error", "The call fails with a status.", func(p *errorParams) chaos.Fault {
			if p.Message != "" { // the caller of a tool gets a text and no body
				return fault.Fail(fmt.Errorf("HTTP %d: %s", cmp.Or(p.Code, 503), p.Message))
			}
			return chaoshttp.Status(cmp.Or(p.Code, 503), nil)
		}),
		oneFault(toolFaults, "malformed", "The result is no longer JSON.",
			func(*none) chaos.Fault { return lies.Malformed() }),
		oneFault(toolFaults, "malicious_response", "The result holds an instruction.",
			func(p *payload) chaos.Fault { return lies.Inject(p.attack()) }),

		oneFault(llmFaults, "timeout", "The model does not answer, and the call times out after 30 s.",
			func(p *delay) chaos.Fault { return fault.Timeout(p.or(30 * time.Second)) }),
		oneFault(llmFaults, "truncated_response", "The answer ends as at its token limit.",
			func(p *tokens) chaos.Fault { return chaoshttp.CutCompletion(4 * cmp.Or(p.MaxTokens, 10)) }),
		{llmFaults, "rate_limit", "The provider refuses the call as one too many.", reflect.TypeFor[none](),
			func(api chaoshttp.API, _ any) chaos.Fault {
				return chaoshttp.APIError(api, chaoshttp.KindRateLimit, nil)
			}},
		oneFault(llmFaults, "empty", "The answer is empty.",
			func(*none) chaos.Fault { return chaoshttp.EmptyCompletion() }),
		oneFault(llmFaults, "garbage", "The answer is gibberish.",
			func(*none) chaos.Fault { return chaoshttp.GarbleCompletion() }),
		oneFault(llmFaults, "response_drift", "The answer comes in another style.",
			func(p *drift) chaos.Fault { return p.fault() }),
	}
}

func oneFault[P any](list, name, text string, make func(p *P) chaos.Fault) mode {
	return mode{list: list, name: name, text: text, params: reflect.TypeFor[P](),
		fault: func(_ chaoshttp.API, params any) chaos.Fault { return make(params.(*P)) }}
}

func (p *delay) or(usual time.Duration) time.Duration {
	return cmp.Or(time.Duration(p.DelayMS)*time.Millisecond, usual)
}

func (p *payload) attack() lies.Attack {
	if p.Payload == "" {
		return lies.Attack{}
	}
	return lies.Attack{Texts: []string{p.Payload}}
}

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
