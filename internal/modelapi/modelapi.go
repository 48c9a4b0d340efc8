// Package modelapi recognises calls of models by their targets. It is shared by
// the point that a request crosses and by a matrix that only knows the point's
// name, so that both agree.
package modelapi

import "strings"

// AsksModel recognises the endpoints of model providers by the ends of their
// paths, since gateways add prefixes. All name the model in the body but
// Gemini's, which has it in the path.
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
