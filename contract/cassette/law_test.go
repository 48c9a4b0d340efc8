package cassette_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract/cassette"
)

// numbered answers each request with the next number, without a network.
type numbered struct{ n atomic.Int64 }

func (a *numbered) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1,
		Body: io.NopCloser(strings.NewReader(fmt.Sprint("answer ", a.n.Add(1))))}, nil
}

// A client is a player that asks its questions in the order of the list, at its place.
type client struct {
	ctx       context.Context
	questions []int
}

// interleave lets the clients ask in an order that rapid chooses, and returns what each was told.
func interleave(t *rapid.T, c *cassette.Cassette, clients []client) [][]string {
	players := make([]*cassette.Player, len(clients))
	told := make([][]string, len(clients))
	var turns []int
	for i := range clients {
		players[i] = c.Player()
		for range clients[i].questions {
			turns = append(turns, i)
		}
	}
	for _, i := range rapid.Permutation(turns).Draw(t, "turns") {
		answer, err := postIn(clients[i].ctx, players[i], fmt.Sprintf(`{"q":%d}`, clients[i].questions[len(told[i])]))
		require.NoError(t, err)
		told[i] = append(told[i], answer)
	}
	for _, p := range players {
		require.NoError(t, p.Err())
	}
	return told
}

// Whoever asked first while it was recorded, and whoever asks first now: a replay tells each client what it was told.
// With auto the tape grows in several runs, of which each was told what was on it; with record each run replaces it.
func TestAReplayDoesNotDependOnWhoWasFirst(t *testing.T) {
	var contexts []context.Context
	for _, cell := range []string{"", "b", "a"} {
		for _, lane := range []string{"", "l"} {
			in(t, cell, lane, func(ctx context.Context) { contexts = append(contexts, context.WithoutCancel(ctx)) })
		}
	}
	contexts = contexts[:min(len(contexts), 12)]
	dir := t.TempDir()
	var tapes atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, fmt.Sprint(tapes.Add(1)))
		answers := &numbered{}
		o := cassette.Options{Base: func() http.RoundTripper { return answers }, Once: rapid.Bool().Draw(t, "once")}
		clients := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) client {
			return client{
				rapid.SampledFrom(contexts).Draw(t, "place"),
				rapid.SliceOfN(rapid.IntRange(1, 2), 1, 4).Draw(t, "questions"),
			}
		}), 1, 5)
		var all []client
		var last [][]string
		for _, mode := range rapid.SliceOfN(rapid.SampledFrom([]cassette.Mode{cassette.Auto, cassette.Record}), 1, 3).Draw(t, "modes") {
			o.Mode = mode
			c, err := cassette.Open(path, &o)
			require.NoError(t, err)
			all = clients.Draw(t, "clients")
			last = interleave(t, c, all)
			require.NoError(t, c.Close())
		}
		before := answers.n.Load()
		o.Mode = cassette.Replay
		c, err := cassette.Open(path, &o)
		require.NoError(t, err)
		assert.Equal(t, last, interleave(t, c, all))
		assert.Equal(t, before, answers.n.Load())
	})
}

// A request has the key of what a tape keeps of it, however that is spelt: otherwise it would miss its own recording.
func FuzzKey(f *testing.F) {
	f.Add("https://api.example/v1/chat?b=2&a=1", []byte(`{"model":"m","trace":"x","messages":[{"content":"on 2026-05-04","trace":{}}]}`))
	f.Add("https://api.example", []byte(`a=1&b=2026`))
	f.Add("?%zz&=", []byte(` {"a":1.0,"a":[],"\u0061":null, "trace":1e999} `))
	f.Add("x://y/z?q=%41", []byte("\xff[1,2"))
	f.Fuzz(func(t *testing.T, url string, body []byte) {
		for _, o := range []*cassette.Options{
			{Mode: cassette.Replay},
			{Mode: cassette.Replay, Ignore: []string{"$..trace", "$.messages[0]"}, Mask: []cassette.Mask{{Pattern: `\d+`, Text: "N"}, {Pattern: "é|a", Text: `"\`}}},
		} {
			key, kept, err := cassette.KeyOf(o, http.MethodPost, url, body)
			require.NoError(t, err)
			again, _, err := cassette.KeyOf(o, http.MethodPost, url, kept)
			require.NoError(t, err)
			if key != again {
				t.Errorf("%q is kept as %q, which has another key", body, kept)
			}
			var wide bytes.Buffer
			if json.Indent(&wide, body, " ", "\t") == nil {
				if again, _, _ = cassette.KeyOf(o, http.MethodPost, url, wide.Bytes()); key != again {
					t.Errorf("%q has another key with more white space", body)
				}
			}
		}
	})
}
