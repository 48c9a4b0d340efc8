package mcpchaos

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// Whatever a message holds, a fault that edits it leaves it as it is, or makes JSON.
func FuzzEditedMessages(f *testing.F) {
	for _, text := range []string{`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1}}}`, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"id":null,"result":7}`, `{"id":1,"error":{"code":1}}`, `[1]`, `null`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := ChangeID().Inject(t.Context(), chaos.Call{}, Message{}, func(context.Context, any) (any, error) {
			return []string{text}, nil
		})
		require.NoError(t, err)
		lines := out.([]string)
		require.Len(t, lines, 1)
		assert.True(t, lines[0] == text || json.Valid([]byte(lines[0])), lines[0])
		placeOf("tools/call", []byte(text))
	})
}
