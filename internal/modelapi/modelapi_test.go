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
