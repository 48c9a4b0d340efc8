package redact_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/redact"
)

// shapesOfStreams are how providers say a text in pieces: %q is one, %d the number of the choice or block.
var shapesOfStreams = map[string]string{
	"OpenAI chat":       `data: {"id":"chatcmpl-1","choices":[{"index":%[2]d,"delta":{"content":%[1]s},"finish_reason":null}]}` + "\n\n",
	"OpenAI tool call":  `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%[2]d,"function":{"arguments":%[1]s}}]}}]}` + "\n\n",
	"OpenAI responses":  "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":%[2]d,"content_index":0,"delta":%[1]s}` + "\n\n",
	"Anthropic text":    "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":%[2]d,"delta":{"type":"text_delta","text":%[1]s}}` + "\n\n",
	"Anthropic tool":    "event: content_block_delta\r\n" + `data: {"type":"content_block_delta","index":%[2]d,"delta":{"type":"input_json_delta","partial_json":%[1]s}}` + "\r\n\r\n",
	"Gemini":            `data: {"candidates":[{"content":{"parts":[{"text":%[1]s}]},"index":%[2]d}]}` + "\r\n\r\n",
	"Ollama":            `{"index":%[2]d,"message":{"role":"assistant","content":%[1]s},"done":false}` + "\n",
	"texts and nothing": `data: %[1]s` + "\n\n",
}

var saidText = regexp.MustCompile(`"(?:content|arguments|delta|text|partial_json)":("(?:[^"\\]|\\.)*")|^data: (".*")`)

// said puts together what parts say under a number.
func said(parts [][]byte, number string) (all string) {
	for _, part := range parts {
		if !strings.Contains(string(part), number) {
			continue
		}
		if m := saidText.FindSubmatch(part); m != nil {
			var text string
			if json.Unmarshal(append(m[1], m[2]...), &text) == nil {
				all += text
			}
		}
	}
	return all
}

// However a text is cut, the pieces together are the redacted text, and a stream without a secret
// is left as it is. Other choices of the same stream come in between.
func TestPiecesAreTheRedactedText(t *testing.T) {
	keys := redact.New(nil, redact.Keys)
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom([]string{"OpenAI chat", "OpenAI tool call", "OpenAI responses", "Anthropic text", "Anthropic tool", "Gemini", "Ollama"}).Draw(r, "shape")
		key := rapid.SampledFrom([]string{"sk-abcdefghijklmnop1234", "ghp_0123456789abcdef0123", "-----BEGIN KEY-----\nMI\n-----END KEY-----", "https://ann:pa55word@h/"})
		words := rapid.StringOfN(rapid.SampledFrom([]rune("ab é😀\"\\\n.")), 0, 12, -1)
		text := words.Draw(r, "before") + " "
		for range rapid.IntRange(0, 2).Draw(r, "keys") {
			text += key.Draw(r, "key") + " " + words.Draw(r, "after")
		}
		var parts [][]byte
		var other string
		for rest := []rune(text); len(rest) > 0; {
			n := rapid.IntRange(1, min(9, len(rest))).Draw(r, "size")
			quoted, _ := json.Marshal(string(rest[:n]))
			parts = append(parts, fmt.Appendf(nil, shapesOfStreams[name], quoted, 7))
			rest = rest[n:]
			if rapid.Bool().Draw(r, "other") {
				word := fmt.Sprintf("word%d ", len(parts))
				other += word
				parts = append(parts, fmt.Appendf(nil, shapesOfStreams[name], `"`+word+`"`, 8))
			}
		}
		before := fmt.Sprintf("%s", parts)
		clean := keys.Pieces(parts)
		assert.Equal(r, before, fmt.Sprintf("%s", parts), "the argument is not changed")
		assert.Len(r, clean, len(parts))
		number := regexp.MustCompile(`ndex":\d`).FindString(fmt.Sprintf(shapesOfStreams[name], `""`, 7))
		if name == "OpenAI tool call" {
			number = `[{"index":7`
		}
		assert.Equal(r, keys.Text(text), keys.Text(said(clean, number)))
		assert.Equal(r, other, said(clean, strings.Replace(number, "7", "8", 1)))
		if keys.Text(text) == text {
			assert.Equal(r, before, fmt.Sprintf("%s", clean))
		}
	})
}

// A table of what is joined and what is not.
func TestPieces(t *testing.T) {
	keys := redact.New(nil, redact.Keys)
	shape := func(name string, texts ...string) (parts [][]byte) {
		for _, text := range texts {
			quoted, _ := json.Marshal(text)
			parts = append(parts, fmt.Appendf(nil, shapesOfStreams[name], quoted, 0))
		}
		return parts
	}
	for why, row := range map[string]struct{ got, want [][]byte }{
		"the first piece says all of the text": {shape("OpenAI chat", "use ", "it: sk-ab", "cdefghijk", "lmnopqrs and", " go on"),
			shape("OpenAI chat", "use it: [redacted] and go on", "", "", "", "")},
		"a key that one piece begins is taken out whole": {shape("Anthropic text", "sk-abcdefghijklmnopqrst", "uvw now"),
			shape("Anthropic text", "[redacted] now", "")},
		"a key that one piece holds is left for Text": {shape("OpenAI chat", "a ", "sk-abcdefghijklmnopqrst", " b"),
			shape("OpenAI chat", "a ", "sk-abcdefghijklmnopqrst", " b")},
		"texts alone": {shape("texts and nothing", "ghp_01234567", "89abcdef0123"), [][]byte{[]byte("data: \"[redacted]\"\n\n"), []byte("data: \"\"\n\n")}},
		"an id that all documents have is no piece": {[][]byte{[]byte(`{"id":"sk-1234567"}` + "\n"), []byte(`{"id":"sk-1234567"}` + "\n"), []byte(`{"id":"sk-1234567"}` + "\n")},
			[][]byte{[]byte(`{"id":"sk-1234567"}` + "\n"), []byte(`{"id":"sk-1234567"}` + "\n"), []byte(`{"id":"sk-1234567"}` + "\n")}},
		"several lines in a part": {[][]byte{[]byte(": ping\n" + `{"t":"ghp_0123456789"}` + "\n" + `{"t":"abcdef"} ` + "\n"), []byte(`{"t":"0123 x","n":1}`)},
			[][]byte{[]byte(": ping\n" + `{"t":"[redacted] x"}` + "\n" + `{"t":""} ` + "\n"), []byte(`{"t":"","n":1}`)}},
		"no documents": {[][]byte{[]byte("data: ghp_0123456789\n"), []byte("data: abcdef0123 {\n"), nil}, [][]byte{[]byte("data: ghp_0123456789\n"), []byte("data: abcdef0123 {\n"), nil}},
	} {
		assert.Equal(t, fmt.Sprintf("%s", row.want), fmt.Sprintf("%s", keys.Pieces(row.got)), why)
	}
}

// Whatever a stream holds, a second pass finds nothing more, and each part stays a part.
func FuzzPieces(f *testing.F) {
	for _, name := range []string{"OpenAI chat", "Anthropic tool", "Ollama"} {
		f.Add(fmt.Sprintf(shapesOfStreams[name]+shapesOfStreams[name], `"sk-abcdefgh"`, 0, 0), 3)
		f.Add(strings.ReplaceAll(fmt.Sprintf(shapesOfStreams[name], `"ghp_0123456789"`, 0)+fmt.Sprintf(shapesOfStreams[name], `"é\ud83dabcdef"`, 0), "\n\n", "\n"), 40)
	}
	f.Fuzz(func(t *testing.T, stream string, lines int) {
		var parts [][]byte
		for i, line := range strings.SplitAfter(stream, "\n") {
			if lines < 1 || i%lines == 0 {
				parts = append(parts, nil)
			}
			parts[len(parts)-1] = append(parts[len(parts)-1], line...)
		}
		clean := all.Pieces(parts)
		if len(clean) != len(parts) {
			t.Fatalf("%d parts became %d", len(parts), len(clean))
		}
		if again := all.Pieces(clean); fmt.Sprintf("%q", again) != fmt.Sprintf("%q", clean) {
			t.Fatalf("not idempotent: %q, then %q, then %q", parts, clean, again)
		}
	})
}
