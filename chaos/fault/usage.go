package fault

import "github.com/shakedown-go/shakedown/internal/jsonvalue"

// A Usage says how the result of a call tells how many tokens it used. The result
// is a JSON document, or a Go value that encodes to it. Of an HTTP response it is the
// body, which counts once the client has read or closed it.
type Usage string

// The ways to read a usage.
const (
	// OpenAIUsage reads the usage member of OpenAI's answers, chat completions and
	// responses, and of compatible services.
	OpenAIUsage Usage = "openai"
	// AnthropicUsage reads that of Anthropic's messages. Tokens written to and read
	// from the cache count as input.
	AnthropicUsage Usage = "anthropic"
)

// usageParam is a usage as a parameter.
type usageParam struct {
	Usage string `json:"usage" bounds:"enum=openai|anthropic" doc:"provider whose answers hold the usage"`
}

// measure computes what a call used, at these prices of a token.
func (p usageParam) measure(input, output float64) func(use) (amount float64, known bool) {
	return func(call use) (float64, bool) {
		if call.err != nil {
			return 0, true
		}
		u, known := usageOf(call.result)
		if Usage(p.Usage) == AnthropicUsage {
			return (u.Input+u.CacheWrite+u.CacheRead)*input + u.Output*output, known
		}
		return (u.Prompt+u.Input)*input + (u.Completion+u.Output)*output, known
	}
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
