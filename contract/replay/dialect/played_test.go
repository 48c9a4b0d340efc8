package dialect_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/replay/dialect"
)

// A trace in any dialect can be played: each call of the agent gets the answer that the
// trace has, or the session says which calls were not recorded whole.
func TestImportedSessionsArePlayed(t *testing.T) {
	whole := 0
	for _, tell := range tellers() {
		t.Run(tell.name, func(t *testing.T) {
			in := refundTwice()
			s := imported(t, tell.tell(&in), &dialect.Options{Tools: declared})
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
				if assert.Equal(t, string(c.Result), string(got), i+1); c.Error != nil {
					assert.EqualError(t, err, c.Error.Text)
				}
			}
			assert.Positive(t, tools)
			assert.NoError(t, p.Err())
			assert.Empty(t, p.Unplayed())
		})
	}
	assert.Equal(t, len(tellers())-1, whole)
}
