package client_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// network is one whose https://shop.test sends everyone elsewhere. It keeps the tokens that it saw.
type network struct {
	elsewhere string
	tokens    []string
}

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	n.tokens = append(n.tokens, req.Header.Get("Authorization"))
	answer := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody, Request: req}
	if len(n.tokens) == 1 {
		answer.StatusCode = http.StatusTemporaryRedirect
		answer.Header.Set("Location", n.elsewhere)
	}
	return answer, nil
}

func TestATokenStaysWithItsOrigin(t *testing.T) {
	for elsewhere, token := range map[string]string{
		"https://shop.test/other": "Bearer tok", "https://other.test/mcp": "", "http://shop.test/mcp": "", "https://shop.test:8443/mcp": "",
	} {
		n := &network{elsewhere: elsewhere}
		_, err := client.WithToken(&http.Client{Transport: n}, "https://shop.test/mcp", "tok").Get("https://shop.test/mcp")
		require.NoError(t, err)
		assert.Equal(t, []string{"Bearer tok", token}, n.tokens, elsewhere)
	}
	assert.Same(t, http.DefaultClient, client.WithToken(nil, "https://shop.test/mcp", ""))
}
