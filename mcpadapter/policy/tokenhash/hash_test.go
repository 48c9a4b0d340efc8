package tokenhash_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/mcpadapter/policy/tokenhash"
)

func TestOf(t *testing.T) {
	value, hash := tokenhash.New()
	again, err := tokenhash.Of(value)
	require.NoError(t, err)
	assert.Equal(t, hash, again)
	known, err := tokenhash.Of("the-token-of-the-admin")
	require.NoError(t, err)
	assert.Equal(t, "e511cd7fb485193db440d78c0917db3460eb9e9c13fc0a804f5583744a5d4507", known[len(tokenhash.Prefix):], "as sha256sum makes it")
	other, _ := tokenhash.New()
	assert.NotEqual(t, value, other)
	for _, short := range []string{"", "hunter2", "nineteen-characters", "twenty characters with spaces"} {
		_, err := tokenhash.Of(short)
		require.ErrorContains(t, err, "at least 20", short)
		if short != "" {
			assert.NotContains(t, err.Error(), short)
		}
	}
}

func ExampleNew() {
	value, hash := tokenhash.New() // the client gets the value, the file of tokens the hash
	gate, _ := policy.New(&policy.Options{Tokens: []policy.Token{{Hash: hash, Subject: "ci", Scopes: []string{"rooms:read"}}}})
	handler, _ := gate.HTTPHandler(http.NotFoundHandler(), nil)
	req := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	req.RemoteAddr = "127.0.0.1:5000"
	req.Header.Set("Authorization", "Bearer "+value)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	fmt.Println(len(value), hash[:7], w.Code) // it passed, and there is nothing behind
	// Output:
	// 26 sha256: 404
}
