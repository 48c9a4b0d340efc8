package judge_test

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzReplies gives the model's replies, with the mark of the question where they say MARK. A reply
// counts if it is in form, by a reader of its own, and is undecided otherwise.
func FuzzReplies(f *testing.F) {
	for _, s := range []string{"", "{}", "```json\n{}\n```", `{"mark":"","ruling":"held","reason":""}`, "[", "\xff",
		`{"mark":"MARK","ruling":"held","reason":"r"}`, "```json\n{\"mark\":\"MARK\",\"ruling\":\"broken\",\"reason\":\"\"}\n```",
		`{"mark":"MARK","ruling":"held","ruling":"broken","reason":"r"}`, ` {"reason":"é\u00e9","ruling":"unsure","mark":"MARK"} `,
		"It holds.", `{"mark":"000","ruling":"held","reason":"x"}`, `{"ruling":"held","reason":"x"}`, `{"mark":"MARK","ruling":"HELD","reason":""}`,
		`{"mark":"MARK","ruling":"passed","reason":""}`, `{"mark":"MARK","ruling":"held","reason":"","sure":1}`, `{"mark":"MARK","ruling":1,"reason":""}`,
		`{"mark":"MARK","ruling":"held","reason":""}{"mark":"MARK","ruling":"broken","reason":""}`, `Sure! {"mark":"MARK","ruling":"held","reason":""}`,
		`[{"mark":"MARK","ruling":"held","reason":""}]`, `{"mark":"MARK","ruling":"held","reason":"r"}}`, `{"mark":"MARK","Ruling":"held","reason":null}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var said string
		j, err := chat(t, func(_ context.Context, _, user string) (string, error) {
			mark, _ := fenced(t, user)
			said = mark
			return strings.ReplaceAll(s, "MARK", mark), nil
		}, nil)(t.Context(), question("It arrived."))
		require.NoError(t, err)
		assert.Equal(t, rulingOf(strings.ReplaceAll(s, "MARK", said), said), j.Ruling.String(), "%q", s)
	})
}

// rulingOf reads a reply token by token: one object with the members mark, ruling and reason, each
// once and a text, within a fence of Markdown or alone.
func rulingOf(reply, mark string) string {
	const undecided = "unsure"
	reply = strings.TrimSpace(reply)
	if body, fence := strings.CutPrefix(reply, "```"); fence && strings.HasSuffix(body, "```") {
		reply = strings.TrimPrefix(strings.TrimSuffix(body, "```"), "json")
	}
	dec := json.NewDecoder(strings.NewReader(reply))
	token := func() any {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		return tok
	}
	if !utf8.ValidString(reply) || token() != json.Delim('{') {
		return undecided
	}
	members := map[string]string{}
	for dec.More() {
		name, isText := token().(string)
		value, isToo := token().(string)
		if _, twice := members[name]; !isText || !isToo || twice {
			return undecided
		}
		members[name] = value
	}
	if token() != json.Delim('}') || token() != io.EOF {
		return undecided
	}
	_, reasoned := members["reason"]
	ruling := members["ruling"]
	if len(members) != 3 || !reasoned || members["mark"] != mark || !slices.Contains([]string{"held", "broken"}, ruling) {
		return undecided
	}
	return ruling
}
