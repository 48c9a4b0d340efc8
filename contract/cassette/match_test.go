package cassette_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
)

// in runs f as the agent of a cell, in the lane.
func in(t *testing.T, cell, lane string, f func(ctx context.Context)) {
	t.Helper()
	if cell == "" {
		f(chaos.WithLane(t.Context(), lane))
		return
	}
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				if _, ok := contract.CellOf(ctx); ok {
					f(chaos.WithLane(ctx, lane))
				}
				return "", nil
			}}, nil
		},
		Prompts:    []string{"go"},
		Invariants: []contract.Invariant{{Name: "any", Severity: contract.Low, Check: func(context.Context, *contract.Observation) error { return nil }}},
		Scenarios:  []contract.Scenario{{Name: cell}},
	}
	_, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
}

func postIn(ctx context.Context, p http.RoundTripper, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, api+"/chat", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	return do(p, r)
}

// Of equal requests, those of the same cell and lane answer, else of the cell, else of the first cell on the tape.
func TestMatchOrder(t *testing.T) {
	const q = `{"q":1}`
	path := tapeOf(t,
		exchange("a/1", q, "a1"), exchange("a/1 l", q, "a-l1"), exchange("a/1 l", q, "a-l2"),
		exchange("b/1 k", q, "b-k"), exchange("b/1 m", q, "b-m"), exchange("b/1 m", q, "b-m2"),
	)
	for _, row := range []struct {
		why, cell, lane string
		want            []string
	}{
		{"cell and lane, in order, then the last again", "a", "l", []string{"a-l1", "a-l2", "a-l2", "a-l2"}},
		{"cell and lane", "a", "", []string{"a1", "a1"}},
		{"the cell, of all its lanes", "b", "", []string{"b-k", "b-m", "b-m2", "b-m2"}},
		{"the first cell, the lane of the same name", "c", "l", []string{"a-l1", "a-l2", "a-l2"}},
		{"the first cell, of all its lanes", "c", "z", []string{"a1", "a-l1", "a-l2", "a-l2"}},
		{"no cell at all", "", "", []string{"a1", "a1"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			p := open(t, path, &cassette.Options{Mode: cassette.Replay}).Player()
			in(t, row.cell, row.lane, func(ctx context.Context) {
				for _, want := range row.want {
					got, err := postIn(ctx, p, q)
					assert.NoError(t, err)
					assert.Equal(t, want, got)
				}
			})
			assert.NoError(t, p.Err())
		})
	}
}

func TestPlayersCountEachForItself(t *testing.T) {
	path := tapeOf(t, exchange("", `{"q":1}`, "one"), exchange("", `{"q":1}`, "two"))
	c := open(t, path, &cassette.Options{Mode: cassette.Replay})
	p, other := c.Player(), c.Player()
	assert.Equal(t, "one", mustPost(t, p, "/chat", `{"q":1}`))
	assert.Equal(t, "two", mustPost(t, p, "/chat", `{"q":1}`))
	assert.Equal(t, "one", mustPost(t, other, "/chat", `{"q":1}`))
	p.Rewind()
	assert.Equal(t, "one", mustPost(t, p, "/chat", `{"q":1}`))
}

func TestOnce(t *testing.T) {
	path := tapeOf(t, exchange("", `{"q":1}`, "one"))
	p := open(t, path, &cassette.Options{Mode: cassette.Replay, Once: true}).Player()
	mustPost(t, p, "/chat", `{"q":1}`)
	for range 2 {
		_, err := post(p, "/chat", `{"q":1}`)
		var miss *cassette.MissError
		require.ErrorAs(t, err, &miss)
		assert.True(t, miss.UsedUp)
		assert.Equal(t, 2, miss.Request)
		assert.ErrorContains(t, err, "exchange 1 of 1, the same request; its answers were played, and Once repeats none")
	}
	p.Rewind()
	assert.NoError(t, p.Err())
	mustPost(t, p, "/chat", `{"q":1}`)
}

// What a request is matched by.
func TestKey(t *testing.T) {
	type ask struct{ method, url, body string }
	base := ask{http.MethodPost, "https://api.example/v1/chat?b=2&a=1", `{"model":"m","messages":[{"content":"on 2026-05-04"}],"trace":"x"}`}
	for _, row := range []struct {
		why   string
		asked ask
		o     cassette.Options
		hit   bool
	}{
		{"the same", base, cassette.Options{}, true},
		{"another method", ask{http.MethodPut, base.url, base.body}, cassette.Options{}, false},
		{"another host", ask{base.method, "https://api.example.org/v1/chat?b=2&a=1", base.body}, cassette.Options{}, false},
		{"another path", ask{base.method, "https://api.example/v2/chat?b=2&a=1", base.body}, cassette.Options{}, false},
		{"another query", ask{base.method, "https://api.example/v1/chat?b=2&a=2", base.body}, cassette.Options{}, false},
		{"the query in another order", ask{base.method, "https://api.example/v1/chat?a=1&b=2", base.body}, cassette.Options{}, true},
		{"another scheme", ask{base.method, "http://api.example/v1/chat?b=2&a=1", base.body}, cassette.Options{}, true},
		{"the same value, spelt otherwise", ask{base.method, base.url, `{"trace":"\u0078", "messages":[{"content":"on 2026-05-04"}], "model":"m"}`}, cassette.Options{}, true},
		{"another value", ask{base.method, base.url, strings.Replace(base.body, "05-04", "05-05", 1)}, cassette.Options{}, false},
		{"no body", ask{base.method, base.url, ""}, cassette.Options{}, false},
		{"what is ignored", ask{base.method, base.url, strings.Replace(base.body, `"x"`, `"y"`, 1)}, cassette.Options{Ignore: []string{"$.trace"}}, true},
		{"what is ignored may be absent", ask{base.method, base.url, strings.Replace(base.body, `,"trace":"x"`, ``, 1)}, cassette.Options{Ignore: []string{"$..trace"}}, true},
		{"what is masked", ask{base.method, base.url, strings.Replace(base.body, "2026-05-04", "2000-01-01", 1)},
			cassette.Options{Mask: []cassette.Mask{{Pattern: `20\d\d-\d\d-\d\d`, Text: "DATE"}}}, true},
		{"what is masked, escaped", ask{base.method, base.url, strings.Replace(base.body, "2026-05-04", `2\u003000-01-01`, 1)},
			cassette.Options{Mask: []cassette.Mask{{Pattern: `20\d\d-\d\d-\d\d`, Text: "DATE"}}}, true},
		{"a mask in the query", ask{base.method, "https://api.example/v1/chat?b=3&a=1", base.body},
			cassette.Options{Mask: []cassette.Mask{{Pattern: `b=\d`}}}, true},
		{"a mask does not reach the host", ask{base.method, "https://api2.example/v1/chat?b=2&a=1", base.body},
			cassette.Options{Mask: []cassette.Mask{{Pattern: `api\d?`, Text: "API"}}}, false},
		{"a mask does not reach names of members", ask{base.method, base.url, strings.Replace(base.body, `"trace"`, `"trail"`, 1)},
			cassette.Options{Mask: []cassette.Mask{{Pattern: `tra\w+`}}}, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			send := func(p http.RoundTripper, a ask) (string, error) {
				r, err := http.NewRequest(a.method, a.url, strings.NewReader(a.body))
				require.NoError(t, err)
				r.Header.Set("User-Agent", t.Name()) // headers never count
				return do(p, r)
			}
			path := recorded(t, counting(), func(p *cassette.Player) {
				_, err := send(p, base)
				require.NoError(t, err)
			})
			o := row.o
			o.Mode = cassette.Replay
			_, err := send(open(t, path, &o).Player(), row.asked)
			assert.Equal(t, row.hit, err == nil, "%v", err)
		})
	}
}

// What of an address counts, besides what TestKey says.
func TestAddresses(t *testing.T) {
	masks := []cassette.Mask{{Pattern: `\d{4}-\d\d-\d\dT\d\d:\d\d`, Text: "TIME"}, {Pattern: `order \d+`, Text: "ORDER"}, {Pattern: `^n[0-9a-f]{4}=`, Text: "nonce="}}
	for _, row := range []struct {
		why, url string
		masks    []cassette.Mask
		asked    map[string]bool // whether it is the same
	}{
		{"masks see the texts that escapes stand for", "/order%201/x?since=2026-05-04T10%3A00&n0123=1&nb=1&q=a+b", masks, map[string]bool{
			"/order%202/x?nb=1&n0123=1&q=a+b&since=2000-01-01T00%3A00":   true,
			"/order%202/x?nb=1&n0123=1&q=a%20b&since=2000-01-01T00:00":   true,
			"/order%202/x?nffff=1&nb=1&q=a+b&since=2000-01-01T00%3A00":   true, // a name that now stands behind another
			"/order%202%2Fx?nb=1&n0123=1&q=a+b&since=2000-01-01T00%3A00": false,
			"/order%202/x?nb=1&n0123=1&q=a+b&since=now":                  false,
			"/order%202/x?nb=1&n0123=1&q=a+c&since=2000-01-01T00%3A00":   false,
		}},
		{"a mask ends with its parameter", "/x?t=1&user=alice", []cassette.Mask{{Pattern: `t=.*`}}, map[string]bool{
			"/x?t=2&user=alice": true, "/x?user=alice&t=2": true, "/x?t=2&user=bob": false, "/x?t=2": false,
		}},
		{"a client sends / where there is no path", "?q=1", nil, map[string]bool{"/?q=1": true}},
	} {
		host, _ := strings.CutSuffix(api, "/v1")
		path := tapeOf(t, `{"request":{"method":"GET","url":"`+host+row.url+`"},"response":{"status":200}}`)
		for address, hit := range row.asked {
			r, err := http.NewRequest(http.MethodGet, host+address, nil)
			require.NoError(t, err)
			_, err = do(open(t, path, &cassette.Options{Mode: cassette.Replay, Mask: row.masks}).Player(), r)
			assert.Equal(t, hit, err == nil, "%s: %s: %v", row.why, address, err)
		}
	}
}

// The boundary of a multipart body, which is no JSON, is another one each time.
func TestAMaskOfABoundary(t *testing.T) {
	key := func(pattern, boundary string) uint64 {
		o := &cassette.Options{Mode: cassette.Replay, Mask: []cassette.Mask{{Pattern: pattern}}}
		key, _, err := cassette.KeyOf(o, http.MethodPost, api+"/audio", []byte("--"+boundary+"\r\n\r\n\xff\x00\r\n--"+boundary+"--\r\n"))
		require.NoError(t, err)
		return key
	}
	for pattern, hit := range map[string]bool{`[0-9a-f]{60}`: true, `[0-9a-f]{61}`: false} {
		assert.Equal(t, hit, key(pattern, strings.Repeat("0a", 30)) == key(pattern, strings.Repeat("1b", 30)), pattern)
	}
}

func TestAnyRequestCanBeOnATape(t *testing.T) {
	ask := func(t *testing.T, p http.RoundTripper) (answers []string) {
		for _, a := range []struct{ method, path, body string }{
			{http.MethodGet, "/orders/7?verbose=1", ""}, {http.MethodGet, "/orders/8", ""}, {http.MethodDelete, "/orders/8", ""},
			{http.MethodPost, "/embeddings", `{"input":["a","b"]}`}, {http.MethodPost, "/form", "a=1&b=2"},
			{http.MethodPost, "/bytes", "\x00\xff\n"},
		} {
			r, err := http.NewRequest(a.method, api+a.path, strings.NewReader(a.body))
			require.NoError(t, err)
			answer, err := do(p, r)
			require.NoError(t, err)
			answers = append(answers, answer)
		}
		return answers
	}
	var live []string
	path := recorded(t, counting(), func(p *cassette.Player) { live = ask(t, p) })
	c := open(t, path, &cassette.Options{Mode: cassette.Replay})
	assert.Equal(t, live, ask(t, c.Player()))
	assert.Empty(t, c.Unused())
}
