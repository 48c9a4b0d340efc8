package replay_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// A trace in any dialect can be played: each call of the agent gets the answer that the
// trace has, or the session says which calls were not recorded whole.
func TestImportedSessionsArePlayed(t *testing.T) {
	whole := 0
	for _, tell := range tellers() {
		t.Run(tell.name, func(t *testing.T) {
			in := refundTwice()
			s := imported(t, tell.tell(&in), &replay.ImportOptions{Tools: declared})
			p, err := s.Player(nil)
			if err != nil {
				assert.ErrorContains(t, err, "replay: calls[0] is without its ")
				assert.Contains(t, tell.dialect, "mcp-proxy", "it has hashes alone")
				_, err = s.Player(&replay.PlayOptions{AllowHoles: true})
				require.NoError(t, err)
				return
			}
			whole++
			tools := 0
			for i := range s.Calls {
				c := &s.Calls[i]
				if c.Type == findings.Model {
					continue
				}
				tools++
				got, err := p.CallTool(chaos.WithLane(t.Context(), c.Lane), c.Tool, c.Args)
				assert.True(t, sameAnswer(c, got, err), "call %d: %s, %v", i+1, got, err)
			}
			assert.Positive(t, tools)
			assert.NoError(t, p.Err())
			assert.Empty(t, p.Unplayed())
		})
	}
	assert.Equal(t, len(tellers())-1, whole)
}

// Importers make lanes of what overlapped. An agent that is played to has others, or none: it gets all answers all the
// same, in their order.
func TestLanesOfAnImportDoNotPartItsAnswers(t *testing.T) {
	calls := []findings.Call{call("get", `1`, `"a"`), in("2", call("get", `1`, `"b"`)), in("3", call("get", `2`, `"c"`))}
	for _, row := range []struct {
		reason, dialect string
		byOrder         bool
		want            []string
	}{
		{"imported", "otlp", false, []string{`"a"`, `"b"`, `"c"`}},
		{"imported, by order", "otlp", true, []string{`"a"`, `"b"`, `"c"`}},
		{"recorded: the lane has one of the equal calls, which is repeated", "events", false, []string{`"a"`, `"a"`, `"c"`}},
		{"of a recorder of the user's own", "mine", false, []string{`"a"`, `"a"`, `"c"`}},
	} {
		s := &replay.Session{Name: "lanes", Source: replay.Origin{Dialect: row.dialect}, Calls: calls}
		p, err := s.Player(&replay.PlayOptions{ByOrder: row.byOrder})
		require.NoError(t, err)
		assert.Equal(t, row.want, []string{ask(t, p, "", "get 1"), ask(t, p, "", "get 1"), ask(t, p, "", "get 2")}, row.reason)
	}
}
