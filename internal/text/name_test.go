package text_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/text"
)

func TestName(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "orders.get": "orders.get", "orders.{a,b}": "orders._a_b_", "POST api/x?y": "POST_api_x_y",
		"naïve - __ 漢字": "na_ve_-_", "0123456789abcdefgh": "0123456789abcdef",
	} {
		assert.Equal(t, want, text.Name(s, 16), s)
	}
}
