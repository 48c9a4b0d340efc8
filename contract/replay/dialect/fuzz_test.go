package dialect_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/replay/dialect"
)

// FuzzImport reads any text in any dialect. What is read is a session that is valid, and
// equal when it is read again.
func FuzzImport(f *testing.F) {
	for i, tell := range tellers() {
		for _, c := range []cut{{}, {Withheld: true}, {Twice: true, Orphans: true}, {Unended: true, InWords: true}} {
			in := refundTwice()
			if in.cut = c; i%2 == 0 {
				in = inParallel()
			}
			f.Add(tell.tell(&in), tell.dialect)
			f.Add(strings.Join(strings.Fields(tell.tell(&in)), " "), "")
		}
	}
	f.Fuzz(func(t *testing.T, text, form string) {
		o := &dialect.Options{Dialect: form, Tools: declared}
		sessions, err := dialect.Import(strings.NewReader(text), o)
		if err != nil {
			require.Nil(t, sessions)
			var field *replay.FieldError
			require.ErrorAs(t, err, &field)
			return
		}
		require.NotEmpty(t, sessions)
		names := make(map[string]bool)
		for _, s := range sessions {
			require.NoError(t, s.Validate())
			require.False(t, names[s.Name], "names differ")
			names[s.Name] = true
			for _, c := range s.Calls {
				require.Equal(t, c.Type != findings.Model && c.Tool == "refund", c.Effect != "")
				require.False(t, c.Error != nil && c.Suspected)
			}
		}
		again, err := dialect.Import(strings.NewReader(text), o)
		require.NoError(t, err)
		first, _ := json.Marshal(sessions)
		second, _ := json.Marshal(again)
		assert.True(t, bytes.Equal(first, second))
	})
}
