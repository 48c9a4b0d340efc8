// Package modelapi recognises calls of models by their targets. The injection
// points of HTTP requests use it, and so does a matrix that only knows their names,
// so that both agree.
package modelapi

import "strings"

// AsksModel reports whether path is an endpoint of a model provider. It looks at the
// end of the path, since gateways add prefixes. Gemini names the model in the path,
// the others in the body.
func AsksModel(path string) bool {
	for _, end := range [...]string{
		"/chat/completions", "/completions", "/responses", "/embeddings", "/moderations", // OpenAI and compatible
		"/v1/messages", "/v1/messages/count_tokens", // Anthropic
		":generateContent", ":streamGenerateContent", // Gemini
		"/api/chat", "/api/generate", // Ollama
	} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// IsCall reports whether a target of the form "POST host/path", with or without
// a "#model" at its end, is a call of a model.
func IsCall(target string) bool {
	place, ok := strings.CutPrefix(target, "POST ")
	if !ok {
		return false
	}
	place, _, _ = strings.Cut(place, "#")
	_, path, ok := strings.Cut(place, "/")
	return ok && AsksModel("/"+path)
}

// Named is a glob of the names of points that are models by their names.
const Named = "{llm,model}{,.*,/*}"
