package fault

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// A Usage reads from the result of a call how many tokens it used. The zero
// value reads nothing, and a budget refuses it. It is safe for concurrent use.
type Usage struct {
	name string
	read func(result any) (input, output float64, known bool)
}

// OpenAIUsage reads the usage member of OpenAI's answers, chat completions and
// responses, and of compatible services. The result is that JSON, or a Go value
// that encodes to it. Of an HTTP response it is the body, which counts once the
// client has read or closed it. Its name in a plan as JSON is "openai".
func OpenAIUsage() Usage {
	return Usage{"openai", func(result any) (input, output float64, known bool) {
		u, known := usageOf(result)
		return u.Prompt + u.Input, u.Completion + u.Output, known
	}}
}

// AnthropicUsage is [OpenAIUsage] for Anthropic's messages. Tokens written to
// and read from the cache count as input. Its name in a plan as JSON is
// "anthropic".
func AnthropicUsage() Usage {
	return Usage{"anthropic", func(result any) (input, output float64, known bool) {
		u, known := usageOf(result)
		return u.Input + u.CacheWrite + u.CacheRead, u.Output, known
	}}
}

// UsageFunc reads the usage with a function of your own, from results of type T
// or from JSON that decodes into T. The name appears in reports. Name and fn
// are required. fn must be safe for concurrent use.
func UsageFunc[T any](name string, fn func(result T) (input, output int)) Usage {
	if fn == nil {
		return Usage{name: name}
	}
	return Usage{name, func(result any) (input, output float64, known bool) {
		value, ok := fit[T](result)
		if !ok {
			return 0, 0, false
		}
		in, out := fn(value)
		return float64(in), float64(out), true
	}}
}

// usageJSON is the usage member of both providers.
type usageJSON struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Input      float64 `json:"input_tokens"`
	Output     float64 `json:"output_tokens"`
	CacheWrite float64 `json:"cache_creation_input_tokens"`
	CacheRead  float64 `json:"cache_read_input_tokens"`
}

func usageOf(result any) (u usageJSON, known bool) {
	doc, ok := jsonvalue.Text(result)
	if !ok {
		var err error
		if doc, err = jsonvalue.Encode(result); err != nil {
			return u, false
		}
	}
	answer, err := jsonvalue.Decode[struct{ Usage *usageJSON }](doc)
	if err != nil || answer.Usage == nil {
		return u, false
	}
	return *answer.Usage, true
}

// TokenBudget fails calls once the calls before have used limit tokens in
// total, input and output, according to their results. The call that uses up
// the budget is not ended. limit is at least 1. The rest is as with
// [CallBudget].
//
// A result without usage, such as a response that is a stream of events, costs
// nothing, and the event has a note.
func TokenBudget(limit int, usage Usage, refill time.Duration) chaos.Fault {
	return &budget{terms: terms{
		resource: "token", limit: float64(limit), refill: refill,
		measure: usage.measure(1, 1), check: usage.check,
		params: budgetParams{Limit: limit, Usage: usage.name, Refill: optional(refill)},
	}}
}

// CostBudget is [TokenBudget] in money. limit is an amount in any currency,
// more than 0. The prices are those of a million tokens in the same currency,
// at least 0 and not both 0.
func CostBudget(limit, inputPrice, outputPrice float64, usage Usage, refill time.Duration) chaos.Fault {
	const million = 1e6
	return &budget{terms: terms{
		resource: "cost", limit: limit, refill: refill,
		measure: usage.measure(inputPrice/million, outputPrice/million),
		check: func(c *param.Check) {
			c.That(inputPrice >= 0 && inputPrice <= maxPrice, "inputPrice", inputPrice, "a price of a million tokens, 0 or more")
			c.That(outputPrice >= 0 && outputPrice <= maxPrice && inputPrice+outputPrice > 0, "outputPrice", outputPrice,
				"a price of a million tokens, 0 or more, and more than 0 if inputPrice is not")
			usage.check(c)
		},
		params: budgetParams{Limit: limit, InputPrice: inputPrice, OutputPrice: outputPrice, Usage: usage.name, Refill: optional(refill)},
	}}
}

// maxPrice excludes infinity, which has no JSON.
const maxPrice = 1e15

// measure returns a function that computes what a call used.
func (u Usage) measure(input, output float64) func(use) (float64, bool) {
	return func(call use) (float64, bool) {
		if call.err != nil || u.read == nil {
			return 0, true
		}
		in, out, known := u.read(call.result)
		return in*input + out*output, known
	}
}

func (u Usage) check(c *param.Check) {
	c.That(u.name != "" && u.read != nil, "usage", nil, "OpenAIUsage(), AnthropicUsage(), or a UsageFunc with a name and a function")
}
