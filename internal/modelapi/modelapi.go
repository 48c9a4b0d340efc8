// Package modelapi recognises calls of models by their targets. The injection
// points of HTTP requests use it, and so does a matrix that only knows their names,
// so that both agree.
package modelapi

import "strings"

// Provider returns whose endpoint a path is, by the form of its messages: openai, anthropic,
// gemini, ollama or bedrock; "": it is none of a model provider. It looks at the end of the
// path, since gateways add prefixes.
func Provider(path string) string {
	for _, known := range [...]struct{ end, provider string }{
		{"/chat/completions", "openai"}, {"/completions", "openai"}, {"/responses", "openai"}, // and compatible
		{"/embeddings", "openai"}, {"/moderations", "openai"},
		{"/v1/messages", "anthropic"}, {"/v1/messages/count_tokens", "anthropic"},
		{":generateContent", "gemini"}, {":streamGenerateContent", "gemini"},
		{"/api/chat", "ollama"}, {"/api/generate", "ollama"},
		{"/converse", "bedrock"}, {"/converse-stream", "bedrock"},
		{"/invoke", "bedrock"}, {"/invoke-with-response-stream", "bedrock"},
	} {
		if strings.HasSuffix(path, known.end) && (known.provider != "bedrock" || strings.Contains(path, "/model/")) {
			return known.provider
		}
	}
	return ""
}

// AsksModel reports whether path is an endpoint of a model provider.
func AsksModel(path string) bool { return Provider(path) != "" }

// ModelIn returns the model that a path names, as those of Gemini and Bedrock do; "": it
// names none. The others have it in the body.
func ModelIn(path string) string {
	switch Provider(path) {
	case "gemini":
		model, _, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
		return model
	case "bedrock":
		_, rest, _ := strings.Cut(path, "/model/")
		return rest[:max(strings.LastIndexByte(rest, '/'), 0)]
	}
	return ""
}

// PathOf returns the path of a target of the form "POST host/path", with or without a
// "#model" at its end; "": it has another form.
func PathOf(target string) string {
	place, ok := strings.CutPrefix(target, "POST ")
	if !ok {
		return ""
	}
	place, _, _ = strings.Cut(place, "#")
	_, path, ok := strings.Cut(place, "/")
	if !ok {
		return ""
	}
	return "/" + path
}

// IsCall reports whether a target is a call of a model.
func IsCall(target string) bool { return AsksModel(PathOf(target)) }

// Named is a glob of the names of points that are models by their names.
const Named = "{llm,model}{,.*,/*}"
