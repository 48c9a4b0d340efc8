package fault

import (
	"github.com/shakedown-go/shakedown/chaos/catalog"
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

// usageParam is a usage as a parameter.
type usageParam struct {
	Usage   string `json:"usage" bounds:"enum=openai|anthropic" doc:"provider whose answers hold the usage"`
	from    Usage
	measure func(use) (float64, bool)
}

func paramOf(u Usage) usageParam { return usageParam{Usage: u.name, from: u} }

// bounded has a usage that bounds accept in place of one of the user's: they know
// only those that JSON can name. Check refuses one that is none.
func (p usageParam) bounded() usageParam {
	if p.from.name == p.Usage {
		p.Usage = "openai"
	}
	return p
}

func (p usageParam) Check(c *catalog.Check) {
	c.That(p.from.name != "" && p.from.read != nil, "usage", nil,
		"OpenAIUsage(), AnthropicUsage(), or a UsageFunc with a name and a function")
}

// priced sets measure, which computes what a call used at these prices. A plan in
// JSON has only the name of the usage.
func (p usageParam) priced(input, output float64) usageParam {
	if p.from.name != p.Usage {
		if p.from = OpenAIUsage(); p.Usage == "anthropic" {
			p.from = AnthropicUsage()
		}
	}
	read := p.from.read
	p.measure = func(call use) (float64, bool) {
		if call.err != nil || read == nil {
			return 0, true
		}
		in, out, known := read(call.result)
		return in*input + out*output, known
	}
	return p
}
