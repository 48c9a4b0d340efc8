package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// screening returns what a screen lets through of a text, and its answers.
func screening(t testing.TB, text string, most int) (through, answers []string) {
	t.Helper()
	var out bytes.Buffer
	s := &screen{in: io.NopCloser(nil), lines: bufio.NewReader(strings.NewReader(text)), max: most, answers: &lineWriter{to: output{&out, nil}}}
	all, err := io.ReadAll(s)
	require.NoError(t, err)
	return splitLines(string(all)), splitLines(out.String())
}

func splitLines(text string) (all []string) {
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimSuffix(line, "\n"))
	}
	return all
}

func TestScreen(t *testing.T) {
	through, answers := screening(t, "{\"a\":1}\r\nno\n\n  [2]  \n"+strings.Repeat("y", 30)+"\n\"12345678\"\n{\"half\":", 10)
	assert.Equal(t, []string{`{"a":1}`, `[2]`, `"12345678"`}, through)
	assert.Len(t, answers, 3)
	assert.Contains(t, answers[0], "-32700")
	assert.Contains(t, answers[1], "the line has more than 10 bytes")
	assert.Contains(t, answers[2], "-32700", "what the input ends in the middle of")
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON"}}`, answers[0])
}

// Each line is let through or answered: once, and whole.
func FuzzScreen(f *testing.F) {
	for _, s := range []string{"{}\n", "a\nb", "[[[[\n]]]]", "\"\\u00e9\"\r\n", "{\"a\":\"}\"}\n\n{", strings.Repeat("x", 200) + "\n1", "1 2\n", "\x00\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const most = 100
		through, answers := screening(t, text, most)
		var good, bad int
		for line := range strings.Lines(text) {
			trimmed := strings.TrimSpace(line)
			switch {
			case len(line) > most+1: // with its end
				bad++
			case trimmed == "":
			case json.Valid([]byte(trimmed)):
				good++
			default:
				bad++
			}
		}
		if len(through) != good || len(answers) != bad {
			t.Fatalf("%q: %d through of %d, %d answers of %d", text, len(through), good, len(answers), bad)
		}
		for _, line := range through {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%q: %q went through", text, line)
			}
		}
		for _, line := range answers {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%q: %q is the answer", text, line)
			}
		}
	})
}
