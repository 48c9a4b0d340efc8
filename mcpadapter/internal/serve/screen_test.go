package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// screening returns what a transport takes for messages of a text, and its answers.
func screening(t testing.TB, text string, most int) (through, answers []string) {
	t.Helper()
	var out bytes.Buffer
	c, err := Stdio(io.NopCloser(strings.NewReader(text)), &out, nil, most).Connect(t.Context())
	require.NoError(t, err)
	for {
		m, err := c.Read(t.Context())
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return through, splitLines(out.String())
		}
		text, err := jsonrpc.EncodeMessage(m)
		require.NoError(t, err)
		through = append(through, string(text))
	}
}

func splitLines(text string) (all []string) {
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimSuffix(line, "\n"))
	}
	return all
}

const ping = `{"jsonrpc":"2.0","method":"ping"}`

func TestScreen(t *testing.T) {
	through, answers := screening(t, ping+"\r\nno\n\n  ["+ping+", 2,"+ping+"]  \n"+strings.Repeat("y", 130)+"\n[]\n7\n"+ping+"\n{\"half\":", 110)
	assert.Equal(t, []string{ping, ping, ping, ping}, through)
	require.Len(t, answers, 6)
	for i, want := range []string{"-32700", "-32600", "the line has more than 110 bytes", "no messages", "-32600", "-32700"} { // the input ends in the middle of the last
		assert.Contains(t, answers[i], want)
	}
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON"}}`, answers[0])
}

// Each line is let through or answered: once, and whole.
func FuzzScreen(f *testing.F) {
	for _, s := range []string{"{}\n", "a\nb", "[[[[\n]]]]", "\"\\u00e9\"\r\n", "{\"a\":\"}\"}\n\n{", strings.Repeat("x", 200) + "\n1", "1 2\n", "\x00\n", "[" + ping + "]", "null\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const most = 100
		through, answers := screening(t, text, most)
		lines, parts := 0, 0
		for line := range strings.Lines(text) {
			trimmed := strings.TrimSpace(line)
			var batch []json.RawMessage
			switch {
			case trimmed == "" && len(line) <= most+1:
			case len(line) <= most+1 && json.Unmarshal([]byte(trimmed), &batch) == nil && len(batch) > 0:
				parts += len(batch)
			default:
				lines++
			}
		}
		if got := len(through) + len(answers); got != lines+parts {
			t.Fatalf("%q: %d through and answers of %d lines and %d parts of batches", text, got, lines, parts)
		}
		for _, line := range append(through, answers...) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%q: %q", text, line)
			}
		}
	})
}

// After Close there is the end, whatever the reader was at: in the middle of a line, or at a message that nobody took.
func TestReadAfterClose(t *testing.T) {
	for _, text := range []string{"{", ping + "\n"} {
		synctest.Test(t, func(t *testing.T) {
			in, to := io.Pipe()
			c, err := Stdio(in, io.Discard, nil, 100).Connect(t.Context())
			require.NoError(t, err)
			_, err = to.Write([]byte(text))
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, c.Close())
			synctest.Wait()
			for range 50 {
				m, err := c.Read(t.Context())
				require.Nil(t, m)
				require.Equal(t, io.EOF, err)
			}
		})
	}
}
