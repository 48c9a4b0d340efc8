package drill

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/report"
)

// inBubble runs f in virtual time, or as it is.
func inBubble(t *testing.T, bubble bool, f func(context.Context)) {
	t.Helper()
	if !bubble {
		f(t.Context())
		return
	}
	synctest.Test(t, func(t *testing.T) { f(t.Context()) })
}

// A called is a call of the client: plain or streamed, with tools or without.
type called struct {
	name  string
	calls bool
	how   Call
}

func (c *Client) everyCall() []called {
	return []called{
		{"plain", false, c.Whole}, {"plain, a tool call", true, c.Whole}, {"streamed", false, c.Streamed}, {"streamed, a tool call", true, c.Streamed},
		{"the agent, two turns", true, func(ctx context.Context, answers http.RoundTripper, _ bool) (s Seen) {
			s.Text, s.Err = c.Ask(ctx, answers, "Where is order 1042?")
			return s
		}},
	}
}

// record records every call, live or in a bubble, and returns the tape.
func (c *Client) record(t *testing.T, bubble bool) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "calls.cassette.json")
	tape, err := cassette.Open(path, &cassette.Options{Mode: cassette.Record, Base: func() http.RoundTripper { return c.Provider() }})
	require.NoError(t, err)
	inBubble(t, bubble, func(ctx context.Context) {
		for _, one := range c.everyCall() {
			player := tape.Player()
			assert.Equal(t, one.how(ctx, c.Provider(), one.calls), one.how(ctx, player, one.calls), "%s, while it is recorded", one.name)
			assert.Positive(t, player.Live(), one.name)
		}
	})
	require.NoError(t, tape.Close())
	return path
}

// open opens a tape to be played, whose network is a panic.
func open(t *testing.T, path string) *cassette.Cassette {
	t.Helper()
	tape, err := cassette.Open(path, &cassette.Options{Mode: cassette.Replay, Base: func() http.RoundTripper { panic("replay has no network") }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tape.Close()) })
	return tape
}

// played is the tape as a source, a player each.
func (c *Client) played(t *testing.T, path string) source {
	tape := open(t, path)
	return func() (http.RoundTripper, func() error) {
		player := tape.Player()
		return player, player.Err
	}
}

// RecordedAndPlayed: what was recorded live or in a bubble is what the provider answers, whichever way it
// is played.
func (c *Client) RecordedAndPlayed(t *testing.T) {
	for _, recordedIn := range []bool{false, true} {
		tape := open(t, c.record(t, recordedIn))
		for _, playedIn := range []bool{false, true} {
			inBubble(t, playedIn, func(ctx context.Context) {
				for _, one := range c.everyCall() {
					player := tape.Player()
					want := one.how(ctx, c.Provider(), one.calls)
					require.NoError(t, want.Err)
					assert.Equal(t, want, one.how(ctx, player, one.calls), "%s, recorded in a bubble: %v, played in one: %v", one.name, recordedIn, playedIn)
					assert.NoError(t, player.Err())
				}
			})
		}
		assert.Empty(t, tape.Unused(), "all that was recorded is played")
	}
}

// matrix is a contract of the agent on the client, over a tape. Some of its cells break,
// and in some the conversation is another than in a calm run.
func (c *Client) matrix(tape *cassette.Cassette) *contract.Matrix {
	under := func(name string, w chaos.When, f chaos.Fault) contract.Scenario {
		return contract.Under(name, chaos.Rule{Target: c.Target, When: w, Fault: f})
	}
	return &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			player := tape.Player()
			return &contract.World{Err: player.Err, Agent: func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
				if s := c.Streamed(ctx, player, true); s.Err != nil {
					return "", s.Err
				}
				return c.Ask(ctx, player, prompt)
			}}, nil
		},
		Prompts: []string{"Where is order 1042?", "And when does it come?"},
		Invariants: []contract.Invariant{
			invariant.Contains("says-where", contract.High, "shipped"), invariant.Excludes("no-gibberish", contract.Low, "fetch_"),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			under("cut", when.Nth(3), chaoshttp.CutCompletion(12)),
			under("no-such-tool", when.Nth(2), chaoshttp.HallucinateToolCall("orders_find")),
			under("refused", when.Nth(3), chaoshttp.RefuseCompletion("")),
			under("slow", nil, fault.Delay(time.Minute)),
		},
		Trials: 2,
	}
}

// ran is the report of the matrix, each cell in a bubble of its own.
func (c *Client) ran(t *testing.T, tape *cassette.Cassette, workers int) (*contract.Report, []byte) {
	t.Helper()
	bubble := func(run func()) error {
		synctest.Test(t, func(*testing.T) { run() })
		return nil
	}
	r, err := c.matrix(tape).Run(t.Context(), &contract.RunOptions{Workers: workers, Keep: contract.KeepAll,
		Harness: contract.Harness{Calm: bubble, Around: func(_ contract.Cell, run func(contract.Bubble) *contract.CellReport) { run(bubble) }}})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, r, nil))
	return r, b.Bytes()
}

// RecordedMatrix: a matrix that was recorded whole, faults included, is played whole: without a miss, at
// any number of workers, and its report is the same in every byte.
func (c *Client) RecordedMatrix(t *testing.T) {
	for _, workers := range []int{1, 64} {
		t.Run(fmt.Sprintf("recorded with %d workers", workers), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "matrix.cassette.json")
			tape, err := cassette.Open(path, &cassette.Options{Mode: cassette.Auto, Base: func() http.RoundTripper { return c.Provider() }})
			require.NoError(t, err)
			first, want := c.ran(t, tape, workers)
			require.NoError(t, tape.Close())
			states := map[contract.CellState]int{}
			for i := range first.Cells {
				states[first.Cells[i].State]++
			}
			assert.Positive(t, states[contract.Held])
			assert.Positive(t, states[contract.Broken])
			assert.Zero(t, states[contract.Inconclusive], "there is no miss")
			for _, again := range []int{1, 64} {
				_, got := c.ran(t, open(t, path), again)
				assert.Equal(t, string(want), string(got), "%d workers", again)
			}
		})
	}
}
