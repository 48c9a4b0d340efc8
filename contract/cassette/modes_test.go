package cassette_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/cassette"
)

func TestOpenRefuses(t *testing.T) {
	for _, row := range []struct {
		why, env string
		o        *cassette.Options
		want     []string
	}{
		{"a missing file says how to record it", "", nil, []string{"there is no", "SHAKEDOWN_CASSETTE=auto records it"}},
		{"an unknown mode of the environment", "rewind", nil, []string{`SHAKEDOWN_CASSETTE`, `"rewind"`, "replay, auto, record or off"}},
		{"an unknown mode", "", &cassette.Options{Mode: "x"}, []string{`Mode`, `"x"`, "replay, auto, record or off"}},
		{"all problems at once", "", &cassette.Options{Ignore: []string{"$.a", "a["}, Mask: []cassette.Mask{{Pattern: "("}, {}}},
			[]string{"Ignore[1]", "Mask[0].Pattern", "Mask[1].Pattern"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Setenv(cassette.EnvMode, row.env)
			_, err := cassette.Open(tapePath(t), row.o)
			for _, part := range row.want {
				assert.ErrorContains(t, err, part)
			}
			assert.True(t, err != nil && strings.HasPrefix(err.Error(), "cassette: "), "%v", err)
			assert.Equal(t, 0, strings.LastIndex(strings.SplitN(err.Error(), "\n", 2)[0], "cassette: "), "said once: %v", err)
		})
	}
	t.Setenv(cassette.EnvMode, "")
	_, err := cassette.Open(tapePath(t), nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestOptionsTakePrecedenceOverTheEnvironment(t *testing.T) {
	t.Setenv(cassette.EnvMode, "replay")
	c := open(t, tapePath(t), &cassette.Options{Mode: cassette.Auto})
	assert.NoError(t, c.Close())
	t.Setenv(cassette.EnvMode, "auto")
	c, err := cassette.Open(tapePath(t), &cassette.Options{Base: noNetwork})
	require.NoError(t, err, "auto needs no file")
	assert.NoError(t, c.Close(), "and writes none if nothing was asked")
}

func TestATapeThatIsOpenedInABubbleRefusesToRecord(t *testing.T) {
	path := tapeOf(t, exchange("", `{"q":1}`, "one"))
	synctest.Test(t, func(t *testing.T) {
		for _, mode := range []cassette.Mode{cassette.Auto, cassette.Record, cassette.Off} {
			_, err := cassette.Open(path, &cassette.Options{Mode: mode})
			assert.ErrorContains(t, err, "inside a bubble of virtual time")
		}
		c := open(t, path, &cassette.Options{Mode: cassette.Replay})
		assert.Equal(t, "one", mustPost(t, c.Player(), "/chat", `{"q":1}`))
	})
}

// The table of the package comment: what each mode does with a request that is on the tape, and with another.
func TestModes(t *testing.T) {
	for _, row := range []struct {
		mode             cassette.Mode
		hit              string // what the client gets for the request on the tape
		live             int    // calls for both requests
		onTape, missed   bool   // the other request afterwards; now
		exchangesReplace bool   // the answer on the tape is another one afterwards
	}{
		{mode: cassette.Replay, hit: "old", live: 0, missed: true},
		{mode: cassette.Auto, hit: "old", live: 1, onTape: true},
		{mode: cassette.Record, hit: "new", live: 2, onTape: true, exchangesReplace: true},
		{mode: cassette.Off, hit: "new", live: 2},
	} {
		t.Run(string(row.mode), func(t *testing.T) {
			path := tapeOf(t, exchange("", `{"q":1}`, "old"), exchange("other/1", `{"q":3}`, "kept"))
			base := noNetwork
			if row.mode != cassette.Replay {
				base = serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("new")) }))
			}
			before := readFile(t, path)
			c := open(t, path, &cassette.Options{Mode: row.mode, Base: base})
			p := c.Player()
			assert.Equal(t, row.hit, mustPost(t, p, "/chat", `{"q":1}`))
			_, err := post(p, "/chat", `{"q":2}`)
			assert.Equal(t, row.missed, err != nil)
			assert.Equal(t, row.missed, p.Err() != nil)
			assert.Equal(t, row.live, p.Live())
			require.NoError(t, c.Close())
			if !row.onTape {
				assert.Equal(t, before, readFile(t, path), "the file is as it was")
				return
			}
			p = open(t, path, &cassette.Options{Mode: cassette.Replay}).Player()
			assert.Equal(t, "new", mustPost(t, p, "/chat", `{"q":2}`))
			if row.exchangesReplace {
				assert.Equal(t, "new", mustPost(t, p, "/chat", `{"q":1}`))
			} else {
				assert.Equal(t, "old", mustPost(t, p, "/chat", `{"q":1}`))
			}
			assert.Equal(t, "kept", mustPost(t, p, "/chat", `{"q":3}`), "the cell did not run, so it keeps its exchanges")
		})
	}
}

// Exchanges are told by their numbers in the file, also in one that somebody has put in another order.
func TestNumbersAreThoseOfTheFile(t *testing.T) {
	path := tapeOf(t, exchange("z/1", `{"q":1}`, "z"), exchange("a/1", `{"q":2}`, "a"))
	c := open(t, path, &cassette.Options{Mode: cassette.Replay})
	mustPost(t, c.Player(), "/chat", `{"q":1}`)
	assert.Equal(t, []int{2}, c.Unused())
	_, err := post(c.Player(), "/chat", `{"q":2,"n":0}`)
	assert.ErrorContains(t, err, "nearest: exchange 2 of 2")
}

func TestCloseTwice(t *testing.T) {
	path := tapePath(t)
	c := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: serve(t, counting())})
	p := c.Player()
	mustPost(t, p, "/chat", `{}`)
	assert.NoError(t, c.Close())
	assert.NoError(t, c.Close())
	assert.NotEmpty(t, mustPost(t, p, "/chat", `{}`), "what is known is played")
	_, err := post(p, "/chat", `{"q":2}`)
	assert.ErrorContains(t, err, "a live call after Close")
	assert.ErrorContains(t, p.Err(), "a live call after Close", "so the cell is inconclusive")
}
