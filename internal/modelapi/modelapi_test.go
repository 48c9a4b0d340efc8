package modelapi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/modelapi"
)

func TestIsCall(t *testing.T) {
	for target, want := range map[string]bool{
		"POST api.openai.com/v1/chat/completions":              true,
		"POST api.openai.com/v1/chat/completions#gpt-4o":       true,
		"POST gateway:8443/x/v1/messages#vendor/model":         true,
		"POST g.example/v1beta/models/x:streamGenerateContent": true,
		"GET api.openai.com/v1/chat/completions":               false,
		"POST shop.example/orders":                             false,
		"POST shop.example/orders#/v1/messages":                false,
		"POST responses":                                       false,
		"chat/completions":                                     false,
		"":                                                     false,
	} {
		assert.Equal(t, want, modelapi.IsCall(target), target)
	}
}

func TestProviderAndModelInThePath(t *testing.T) {
	for path, want := range map[string][2]string{
		"/openai/deployments/d/chat/completions":                          {"openai", ""},
		"/v1/messages":                                                    {"anthropic", ""},
		"/v1beta/models/gemini-3-pro:generateContent":                     {"gemini", "gemini-3-pro"},
		"/v1/projects/p/publishers/google/models/g:streamGenerateContent": {"gemini", "g"},
		"/api/generate":                                                   {"ollama", ""},
		"/model/anthropic.claude-v2:1/converse":                           {"bedrock", "anthropic.claude-v2:1"},
		"/model/arn:aws:bedrock:eu-west-1:1:inference-profile/x/invoke-with-response-stream": {"bedrock", "arn:aws:bedrock:eu-west-1:1:inference-profile/x"},
		"/model/converse": {"bedrock", ""},
		"/tools/x/invoke": {},
		"/api/chat/":      {},
		"":                {},
	} {
		assert.Equal(t, want, [2]string{modelapi.Provider(path), modelapi.ModelIn(path)}, path)
	}
}
