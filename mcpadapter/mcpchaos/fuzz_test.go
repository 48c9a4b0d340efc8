package mcpchaos

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// Whatever a message holds, a fault that edits it either leaves it as it is, or
// makes JSON with another id, or JSON that is longer by the stated number of bytes.
func FuzzEditedMessages(f *testing.F) {
	for _, text := range []string{`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1}}}`, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"id":null,"result":7}`, `{"id":1,"error":{"code":1}}`, `[1]`, `null`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, fault := range []chaos.Fault{ChangeID(), Oversize(100)} {
			out, err := fault.Inject(t.Context(), chaos.Call{}, Message{}, func(context.Context, any) (any, error) {
				return []string{text}, nil
			})
			require.NoError(t, err)
			lines := out.([]string)
			require.Len(t, lines, 1)
			if lines[0] == text {
				continue
			}
			assert.True(t, json.Valid([]byte(lines[0])), lines[0])
		}
		placeOf("tools/call", []byte(text))
	})
}

// What is null is as what is not there.
func TestALongMessageOfNull(t *testing.T) {
	long := strings.Repeat("x", 5)
	for text, want := range map[string]string{
		`{"method":"tools/list","params":null}`:                       `{"method":"tools/list","params":{"_meta":{"padding":"` + long + `"}}}`,
		`{"method":"tools/list","params":{"_meta":null,"cursor":""}}`: `{"method":"tools/list","params":{"_meta":{"padding":"` + long + `"},"cursor":""}}`,
		`{"id":1,"result":{"_meta":null}}`:                            `{"id":1,"result":{"_meta":{"padding":"` + long + `"}}}`,
	} {
		out, err := Oversize(len(long)).Inject(t.Context(), chaos.Call{}, Message{}, func(context.Context, any) (any, error) {
			return []string{text}, nil
		})
		require.NoError(t, err)
		assert.Equal(t, []string{want}, out)
	}
}
