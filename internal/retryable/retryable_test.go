package retryable_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/retryable"
)

func TestOf(t *testing.T) {
	const unknown, transient, permanent = retryable.Unknown, retryable.Transient, retryable.Permanent
	for _, tc := range []struct {
		why    string
		status int
		after  time.Duration
		text   string
		want   retryable.Class
	}{
		{"nothing is known", 0, 0, "", unknown},
		{"words that say nothing", 0, 0, "something went wrong", unknown},
		{"a request that is wrong in itself", 400, 0, "", permanent},
		{"nothing there", 404, 0, "", permanent},
		{"too early, in conflict, too many", 425, 0, "", transient},
		{"a server that fails", 503, 0, "", transient},
		{"the status stands over the words", 400, 0, "temporarily unavailable", permanent},
		{"who asks to wait will answer", 403, time.Second, "", transient},
		{"a quota that is used up for good", 429, 0, `{"code":"insufficient_quota"}`, permanent},
		{"wrong parameters of JSON-RPC", -32602, 0, "", permanent},
		{"an error inside, of JSON-RPC", -32603, 0, "", unknown},
		{"a time-out", 0, 0, "i/o timeout", transient},
		{"a time-out of MCP", 0, 0, "MCP error -32001: Request timed out", transient},
		{"a code of gRPC for later", 0, 0, "rpc error: code = Unavailable desc = x", transient},
		{"a code of gRPC for never", 0, 0, "rpc error: code = InvalidArgument desc = x", permanent},
		{"a lost connection", 0, 0, "read: connection reset by peer", transient},
		{"a status in front of the words", 0, 0, "401 Unauthorized: the access token expired", permanent},
		{"a status among the words", 0, 0, "the server answered with status 404", permanent},
		{"a number that is no status", 0, 0, "order 404 is odd", unknown},
		{"a number before the words of another status", 0, 0, "order 500 not found", permanent},
		{"a file that is not there", 0, 0, "ENOENT: no such file or directory, open 'x'", permanent},
		{"a wish that overrides", 0, 0, "quota exceeded, try again in 3s", transient},
		{"a quota alone", 0, 0, "quota exceeded: 5 of 5 calls used", permanent},
		{"a tool that does not exist", 0, 0, `unknown tool "refnd"`, permanent},
	} {
		assert.Equal(t, tc.want, retryable.Of(tc.status, tc.after, tc.text), tc.why)
	}
	for code := 400; code < 600; code++ {
		want := permanent
		switch code {
		case 408, 409, 425, 429:
			want = transient
		}
		if code >= 500 {
			want = transient
		}
		assert.Equal(t, want, retryable.OfStatus(code), code)
	}
}

// What is a status and what is an amount. A text that may be either names no status: the words of
// the text decide then, or nothing is known.
func TestStatusIn(t *testing.T) {
	for text, want := range map[string]int{
		// statuses
		"404":                                  404,
		" 503 ":                                503,
		"404 Not Found":                        404,
		"401: bad token":                       401,
		"(429) slow down":                      429,
		`"500"`:                                500,
		"529 Overloaded":                       529,
		"404 client error: x":                  404,
		`401 {"error":{}}`:                     401,
		"429 You exceeded it":                  429,
		"403 - no rights":                      403,
		"499\nclosed":                          0, // so may a list of numbers begin
		"503\nService Unavailable":             503,
		"unexpected status code: 502":          502,
		"status=404":                           404,
		"failed with code 500":                 500,
		"status 450 (blocked)":                 450, // it says so, known or not
		"promo code 404 was refused: HTTP 422": 422,
		"Request failed with status code 400":  400,
		// amounts, and numbers of things
		"450 USD is too much":          0,
		"500 € a day":                  0,
		"500€":                         0,
		"$500 is above the limit":      0,
		"-404":                         0,
		"#404 is unknown":              0,
		"450.00 is too much":           0,
		"500,000 rows":                 0,
		"404 % of it":                  0,
		"500 orders not found":         0,
		"500 too large: at most 100":   0,
		"500-page document":            0,
		"450 Too much":                 0, // no server has it
		"order 500 not found":          0,
		"the limit is 500":             0,
		"area code: 415":               0,
		"status: 500 USD are reserved": 0,
		"code 404.5":                   0,
	} {
		assert.Equal(t, want, retryable.StatusIn(text), text)
	}
	assert.Equal(t, retryable.Unknown, retryable.Of(0, 0, "450 USD is too much"))
	assert.Equal(t, retryable.Permanent, retryable.Of(0, 0, "500 orders not found"), "the words say so, not the number")
}

func FuzzOf(f *testing.F) {
	f.Add(0, int64(0), "i/o timeout")
	f.Fuzz(func(t *testing.T, status int, after int64, text string) {
		class := retryable.Of(status, time.Duration(after), text)
		assert.GreaterOrEqual(t, class, retryable.Unknown)
		assert.LessOrEqual(t, class, retryable.Permanent)
	})
}
