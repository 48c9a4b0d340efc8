package cassette_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// chatTape has eight exchanges, of which the second is the nearest to what the tests ask.
func chatTape(t testing.TB) string {
	const request = `{"request":{"method":"POST","url":"https://api.openai.com/v1/chat/completions","body":%s},"response":{"status":200,"text":"%d"}}`
	var all []string
	for i := range 8 {
		body := fmt.Sprintf(`{"model":"gpt-5.2","n":%d,"messages":[{"role":"user","content":"Refund order %d"},{"role":"tool","content":"R-%d"}]}`, i, 1040+i, i)
		all = append(all, fmt.Sprintf(request, body, i))
	}
	return tapeOf(t, all...)
}

func TestMissText(t *testing.T) {
	path := chatTape(t)
	p := open(t, path, &cassette.Options{Mode: cassette.Replay}).Player()
	const asked = `{"model":"gpt-5.2","n":1,"messages":[{"role":"user","content":"Refund order 1041"},
		{"role":"tool","content":"error: i/o timeout"},{"role":"user","content":"Try again"}]}`
	var text string
	in(t, "refund-lost", "", func(ctx context.Context) {
		for range 3 { // a client that tries again
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions", strings.NewReader(asked))
			require.NoError(t, err)
			_, err = (&http.Client{Transport: p}).Do(r)
			err = fmt.Errorf("openai: %w", err) // an SDK wraps it
			var miss *cassette.MissError
			require.ErrorAs(t, err, &miss)
			text = miss.Error()
			assert.Equal(t, &cassette.MissError{
				Path: path, Cell: "refund-lost/1", Request: 1, Target: "POST api.openai.com/v1/chat/completions#gpt-5.2",
				Exchanges: 8, Nearest: 2, Share: miss.Share, More: 0, Differences: []cassette.Difference{
					{Pointer: "/messages/1/content", Text: "[-R-1-]{+error: i/o timeout+}"},
					{Pointer: "/messages/2", Text: `only asked: {"role":"user","content":"Try again"}`},
				},
			}, miss)
		}
	})
	// Equal leaves: model, n, two roles, one content and method, host and path: 8. The tape has 9 in all, the request 11.
	assert.Equal(t, `cassette: `+path+` has no answer to request 1 of cell refund-lost/1
  POST api.openai.com/v1/chat/completions#gpt-5.2
nearest: exchange 2 of 8, 80 % alike; it differs at
  /messages/1/content  [-R-1-]{+error: i/o timeout+}
  /messages/2          only asked: {"role":"user","content":"Try again"}
SHAKEDOWN_CASSETTE=auto records it`, text)
	assert.EqualError(t, p.Err(), text, "explained once")
	p.Rewind()
	assert.NoError(t, p.Err())
}

func TestMissOfAnotherKind(t *testing.T) {
	path := chatTape(t)
	for _, row := range []struct{ why, method, url, body, want string }{
		{"another path", http.MethodGet, "https://api.openai.com/v1/models?limit=2", "",
			"exchange 1 of 8, 15 % alike; it differs at\n  method       [-POST-]{+GET+}\n  path         [-/v1/chat/completions-]{+/v1/models+}\n  query/limit  only asked: 2\n  (whole)      only on the tape: {"},
		{"no text of a terminal", http.MethodPost, "https://api.openai.com/v1/chat/completions", `{"model":"\u001b[2J","messages":["\u0007"]}`,
			"completions#\\x1b[2J\n"},
	} {
		p := open(t, path, &cassette.Options{Mode: cassette.Replay}).Player()
		r, err := http.NewRequest(row.method, row.url, strings.NewReader(row.body))
		require.NoError(t, err)
		_, err = p.RoundTrip(r)
		assert.ErrorContains(t, err, row.want, row.why)
		for line := range strings.Lines(err.Error()) {
			assert.False(t, strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r == 0x7f }), "%q", line)
		}
	}
	empty := open(t, tapeOf(t), &cassette.Options{Mode: cassette.Replay}).Player()
	_, err := post(empty, "/chat", `{}`)
	assert.ErrorContains(t, err, "\nthe tape is empty\nSHAKEDOWN_CASSETTE=auto records it")
}

// Whatever makes two requests different is shown.
func TestMissShowsRepeatedParameters(t *testing.T) {
	path := tapeOf(t, `{"request":{"method":"GET","url":"`+api+`/x?a=1&a=2"},"response":{"status":200}}`)
	r, err := http.NewRequest(http.MethodGet, api+"/x?a=1%2C+2", nil)
	require.NoError(t, err)
	_, err = open(t, path, &cassette.Options{Mode: cassette.Replay}).Player().RoundTrip(r)
	assert.ErrorContains(t, err, "it differs at\n  query/a    [-1-]{+1, 2+}\n  query/a/1  only on the tape: 2\n")
}

// A tape in which one byte of a request was changed: the matrix is inconclusive, and says where.
func TestAChangedByteIsFound(t *testing.T) {
	path := tapePath(t)
	model, _ := provider()
	tape := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: serve(t, model)})
	run(t, tape, false, 2)
	require.NoError(t, tape.Close())
	text := readFile(t, path)
	changed := strings.Replace(text, "Where is order 1042?", "Where is order 1043?", 1)
	require.NotEqual(t, text, changed)
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))

	r, _ := run(t, open(t, path, &cassette.Options{Mode: cassette.Replay}), false, 2)
	inconclusive := 0
	for _, c := range r.Cells {
		if strings.Contains(c.Why, "/messages/0/content  [-Where is order 1043?-]{+Where is order 1042?+}") {
			inconclusive++
		}
	}
	assert.NotZero(t, inconclusive)
	assert.NotEqual(t, scoring.Pass, r.Score.Verdict)
	var shown strings.Builder
	require.NoError(t, report.Text(&shown, r, nil))
	assert.Contains(t, shown.String(), "/messages/0/content  [-Where is order 1043?-]{+Where is order 1042?+}", "without asking for more")
}

// Keys in what was asked are masked in the error, as they are on a tape, and so is what the request carried as a
// credential, on both sides.
func TestMissHasNoKeys(t *testing.T) {
	const key, carried = "ghp_abcdefghijklmnopqrst", "Zt7yQ0pLm3VbX9KdW2sR"
	path := tapeOf(t, exchange("", `{"q":"one","same":"`+carried+`"}`, "one"))
	for _, row := range []struct{ why, url, body, want string }{
		{"a well-known form", api + "/chat", `{"q":"` + key + `"}`, `/q     [-one-]{+[redacted]+}`},
		{"a member that says so", api + "/chat", `{"password":"hunter22"}`, "/password  only asked: \"[redacted]\"\n"},
		{"in the path", api + "/" + key + "/x", ``, "GET api.example/v1/[redacted]/x\n"},
		{"in the query", api + "/x?a=" + key, ``, "query/a  only asked: [redacted]\n"},
		{"a path that is a password", "https://api.telegram.org/bot12345:ABCDEFGHIJKLMNOP/send?a=1", ``, "GET api.telegram.org/bot12345:[redacted]\n"},
		{"what the request carried", api + "/chat", `{"q":"I am ` + carried + `","same":"` + carried + `"}`,
			"it differs at\n  /q  [-one-]{+I am [redacted]+}\nSHAKEDOWN"},
		{"what the request carried, in the path", api + "/" + carried, ``, "GET api.example/v1/[redacted]\n"},
	} {
		method := http.MethodPost
		if row.body == "" {
			method = http.MethodGet
		}
		r, err := http.NewRequest(method, row.url, strings.NewReader(row.body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+carried)
		_, err = open(t, path, &cassette.Options{Mode: cassette.Replay}).Player().RoundTrip(r)
		var miss *cassette.MissError
		require.ErrorAs(t, err, &miss, row.why)
		assert.Contains(t, miss.Error(), row.want, row.why)
		for _, secret := range []string{key, carried, "ABCDEFGH", "hunter22"} {
			assert.NotContains(t, fmt.Sprintf("%s %+v", miss, *miss), secret, row.why)
		}
	}
}

// An SDK of OpenAI's or Anthropic's make tries a failed connection again, but not an answer that tells it not to.
func TestAMissTellsSDKsNotToTryAgain(t *testing.T) {
	p := open(t, chatTape(t), &cassette.Options{Mode: cassette.Replay}).Player()
	r, err := http.NewRequest(http.MethodPost, api+"/none", strings.NewReader(`{"password":"hunter22"}`))
	require.NoError(t, err)
	r.Header.Set("X-Stainless-Retry-Count", "0")
	resp, err := (&http.Client{Transport: p}).Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
	assert.Equal(t, "false", resp.Header.Get("X-Should-Retry"))
	_, err = io.ReadAll(resp.Body)
	var miss *cassette.MissError
	require.ErrorAs(t, err, &miss)
	assert.NotContains(t, miss.Error(), "hunter22", "members are redacted in misses too")
	assert.ErrorAs(t, p.Err(), &miss)
}
