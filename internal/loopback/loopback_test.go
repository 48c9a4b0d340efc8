package loopback_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/loopback"
)

func TestCut(t *testing.T) {
	for _, tc := range []struct{ name, before, port, after string }{
		{"GET 127.0.0.1:40213/orders/7", "GET 127.0.0.1", "40213", "/orders/7"},
		{"POST localhost:80/v1/chat/completions#m", "POST localhost", "80", "/v1/chat/completions#m"},
		{"GET [::1]:9/", "GET [::1]", "9", "/"},
		{"GET localhost:80", "GET localhost", "80", ""},
		{"GET localhost/orders", "", "", ""},
		{"GET localhost:/orders", "GET localhost", "", "/orders"}, // not ok
		{"GET example.com:40213/localhost:80", "", "", ""},
		{"GET mylocalhost:80/", "", "", ""},
		{"127.0.0.1:80", "", "", ""}, // no request
		{"orders.get", "", "", ""},
		{"", "", "", ""},
	} {
		before, port, after, ok := loopback.Cut(tc.name)
		assert.Equal(t, tc.port != "", ok, tc.name)
		assert.Equal(t, [3]string{tc.before, tc.port, tc.after}, [3]string{before, port, after}, tc.name)
	}
}
