package cassette_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/cassette"
)

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
