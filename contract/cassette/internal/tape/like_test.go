package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// conversation is what an agent and a model send each other in so many turns: each
// request has all messages before it, and the tools.
func conversation(cell string, turns int) (all []Exchange) {
	type object = map[string]any
	tools := []object{{"type": "function", "function": object{"name": "refund", "parameters": object{"type": "object",
		"description": strings.Repeat("Refunds an order. ", 450)}}}}
	messages := []object{{"role": "system", "content": strings.Repeat("You help customers. ", 100)}, {"role": "user", "content": "Refund order 1042"}}
	for turn := range turns {
		request, _ := json.Marshal(object{"model": "gpt", "messages": messages, "tools": tools})
		call := object{"role": "assistant", "tool_calls": []object{{"id": fmt.Sprint("call_", turn), "type": "function",
			"function": object{"name": "refund", "arguments": fmt.Sprintf(`{"order":%d}`, turn)}}}}
		answer, _ := json.Marshal(object{"id": fmt.Sprint("chatcmpl-", turn), "choices": []object{{"index": 0, "message": call}}})
		all = append(all, Exchange{Cell: cell, Request: Request{"POST", "https://api.openai.com/v1/chat/completions", request},
			Response: Response{200, http.Header{"Content-Type": {"application/json"}}, 840 * time.Millisecond, []Chunk{{Data: answer}}}})
		messages = append(messages, call, object{"role": "tool", "tool_call_id": fmt.Sprint("call_", turn),
			"content": strings.Repeat(fmt.Sprintf("order %d is paid. ", turn), 5)})
	}
	return all
}

// A request of a conversation is written by what it adds, and a whole cell that says
// the same as one before it by numbers.
func TestAConversationIsWrittenOnce(t *testing.T) {
	size := func(f *File) (plain, written int) {
		for _, e := range f.Exchanges {
			plain += len(e.Request.Body) + len(e.Response.Body())
		}
		data, err := f.Bytes()
		require.NoError(t, err)
		again, err := Read(data)
		require.NoError(t, err)
		for i := range f.Exchanges {
			f.Exchanges[i].Request.Body = Canonical(f.Exchanges[i].Request.Body)
		}
		require.Equal(t, f, again)
		return plain, len(data)
	}
	one := &File{conversation("calm/1", 20)}
	plain, written := size(one)
	t.Logf("20 turns: %d bytes of bodies in a file of %d", plain, written)
	assert.Greater(t, plain, 8*written)

	two := &File{append(conversation("calm/1", 20), conversation("lost/1", 20)...)}
	_, both := size(two)
	assert.Less(t, both-written, 20*100, "the second cell has less than a hundred bytes for each exchange")
	data, _ := two.Bytes()
	assert.Equal(t, 20, bytes.Count(data, []byte("\n   \"response\": {\"like\": ")))
}

func TestLikeFindsTheEarlierRequestThatSavesMost(t *testing.T) {
	const list = `"list": ["aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb"`
	for _, row := range []struct{ why, first, second, third, want string }{
		{"equal by value", `{"n": 1, "s": "x"}`, `[]`, "{\"s\":\"\\u0078\",\n\"n\":1}", `{"like": 1}`},
		{"the longest beginning", `{` + list + `]}`, `{` + list + `, 1]}`, `{` + list + `, 1, 2]}`, `{"like": 2, "append": {"/list": [2]}}`},
		{"the first of equal ones", `{` + list + `]}`, `{` + list + `]}`, `{` + list + `, 1]}`, `{"like": 1, "append": {"/list": [1]}}`},
		{"the list that has more", `{"a": [1], ` + list + `, 9]}`, `{"a": [1, 2], ` + list + `]}`, `{"a": [1, 2], ` + list + `, 9]}`,
			`{"like": 1, "append": {"/a": [2]}}`},
		{"an empty list goes on too", `{"list": []}`, `1`, `{"list": [1]}`, `{"like": 1, "append": {"/list": [1]}}`},
		{"a name with signs of pointers", `{"a/b~c": [1]}`, `1`, `{"a/b~c": [1, 2]}`, `{"like": 1, "append": {"/a~1b~0c": [2]}}`},
		{"another member besides", `{"list": [1], "n": 1}`, `1`, `{"list": [1, 2], "n": 2}`, `"body": {"list": [1, 2], "n": 2}}`},
		{"a shorter list", `{"list": [1, 2]}`, `1`, `{"list": [1]}`, `"body": {"list": [1]}}`},
		{"a member that is there twice", `{"l": [1], "l": [2]}`, `1`, `{"l": [1], "l": [2, 3]}`, `"body": {"l": [1], "l": [2, 3]}}`},
		{"no JSON", `hello`, `1`, `hello`, `{"like": 1}`},
		{"no body: it would say less", ``, ``, ``, `{"method": "POST", "url": "http://a.example/"}`},
	} {
		f := new(File)
		for _, body := range []string{row.first, row.second, row.third} {
			f.Exchanges = append(f.Exchanges, Exchange{Request: Request{"POST", "http://a.example/", []byte(body)}, Response: Response{Status: 204}})
		}
		data, err := f.Bytes()
		require.NoError(t, err)
		_, third, _ := strings.Cut(string(data), "\n  {\"request\"")
		_, third, _ = strings.Cut(third, "\n  {\"request\"")
		_, third, _ = strings.Cut(third, "\n  {\"request\"")
		assert.Contains(t, third, row.want, row.why)
		_, err = Read(data)
		assert.NoError(t, err, row.why)
	}
}

// thousand are 1,000 exchanges whose requests have 10 KB, of which none is like another.
func thousand() *File {
	f := new(File)
	for i := range 1000 {
		e := conversation(fmt.Sprintf("cell/%d", i), 1)[0]
		e.Request.Body = bytes.Replace(e.Request.Body, []byte("gpt"), fmt.Appendf(nil, "gpt-%d", i), 1)
		f.Exchanges = append(f.Exchanges, e)
	}
	return f
}

// besideValid reports how often longer run takes than json.Valid of the same bytes.
func besideValid(b *testing.B, data []byte, run func()) {
	b.SetBytes(int64(len(data)))
	var valid time.Duration
	for b.Loop() {
		run()
		b.StopTimer()
		start := time.Now()
		if !json.Valid(data) {
			b.Fatal("no JSON")
		}
		valid += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(valid), "x-valid")
}

func BenchmarkRead(b *testing.B) {
	data, err := thousand().Bytes()
	if err != nil {
		b.Fatal(err)
	}
	besideValid(b, data, func() {
		if _, err := Read(data); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	f := thousand()
	data, err := f.Bytes()
	if err != nil {
		b.Fatal(err)
	}
	besideValid(b, data, func() {
		if _, err := f.Bytes(); err != nil {
			b.Fatal(err)
		}
	})
}
