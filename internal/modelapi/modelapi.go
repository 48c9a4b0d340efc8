// Package modelapi knows calls of models by where they go to. The point that a
// request crosses and a matrix that was only told the point's name must agree
// on that.
package modelapi

import "strings"

// AsksModel recognises the endpoints of model providers by the ends of their
// paths: gateways put others before them. All but Gemini's, which has it in the
// path, name the model in the body.
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
// "#model" behind it, is a call of a model.
func IsCall(target string) bool {
	place, ok := strings.CutPrefix(target, "POST ")
	if !ok {
		return false
	}
	place, _, _ = strings.Cut(place, "#")
	_, path, ok := strings.Cut(place, "/")
	return ok && AsksModel("/"+path)
}
