package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// A conversation is a list of messages or items, and what stands beside it.
type conversation struct {
	id     string
	thread string // of which it is a part; "": the record does not say
	began  time.Time
	items  []json.RawMessage
	line   int
}

// conversations returns those of the input: documents with a list of messages, lists of
// messages, or lines of one message each, which together are one conversation, or one for
// each thread that they name. A document that goes on where another ended, as logs of
// requests do, replaces it.
func (in *input) conversations() []conversation {
	var all []conversation
	loose := make(map[string]int) // the conversations of the lines, by their threads
	for _, d := range in.documents() {
		switch m := objectOf(d.raw); {
		case isConversation(m):
			all = append(all, in.conversation(m, d.line))
			clear(loose)
		case m != nil && (len(m["data"]) == 0 || m["data"][0] != '['):
			thread := threadOf(m)
			at, there := loose[thread]
			if !there {
				at = len(all)
				id := m.text("thread_id", "session_id", "sessionId")
				all = append(all, conversation{id: id, thread: thread, line: d.line})
				loose[thread] = at
			}
			c := &all[at]
			if began, ok := clock(m["timestamp"]); ok && c.began.IsZero() {
				c.began = began
			}
			c.items = append(c.items, d.raw)
		default:
			clear(loose)
			all = append(all, in.listed(d)...)
		}
	}
	later := continued(len(all), func(i int) (string, []json.RawMessage, int) {
		return all[i].thread, all[i].items, len(all[i].items)
	})
	var kept []conversation
	for i, c := range all {
		if later[i] == i {
			kept = append(kept, c)
		}
	}
	return kept
}

func (in *input) listed(d document) (all []conversation) {
	one := conversation{line: d.line}
	for _, e := range in.elements(d) {
		if len(one.items) == 0 { // else the list is one conversation
			if m := objectOf(e.raw); isConversation(m) {
				all = append(all, in.conversation(m, e.line))
				continue
			}
		}
		one.items = append(one.items, e.raw)
	}
	if len(one.items) > 0 {
		all = append(all, one)
	}
	return all
}

// threadOf returns the thread that a message says it is a part of; "": it says none.
func threadOf(m members) string {
	thread := m.text("thread_id", "session_id", "sessionId")
	if string(m["isSidechain"]) == "true" { // of Claude Code: another agent's
		thread += "/side"
	}
	return thread
}

// isConversation reports whether an object has messages, and is not one itself.
func isConversation(m members) bool {
	switch {
	case m == nil:
		return false
	case m["messages"] != nil, m["choices"] != nil, m["contents"] != nil:
		return true
	case m["role"] != nil, m["type"] != nil, m["call_id"] != nil:
		return false
	}
	return m["input"] != nil || m["output"] != nil || m.object("request") != nil && m.object("response") != nil
}

func (in *input) conversation(m members, line int) conversation {
	c := conversation{line: line, thread: m.text("thread_id", "session_id")}
	c.id = cmp.Or(m.text("id"), c.thread)
	for _, at := range []json.RawMessage{m["created_at"], m["created"]} {
		if t, ok := clock(at); ok && c.began.IsZero() {
			c.began = t
		}
	}
	for _, name := range []string{"messages", "contents", "input", "output", "choices"} {
		c.items = append(c.items, in.itemsIn(name, m[name], line)...)
	}
	for _, name := range []string{"request", "response"} {
		if inner := m.object(name); inner != nil {
			c.items = append(c.items, in.conversation(inner, line).items...)
		}
	}
	return c
}

// itemsIn returns the items of a member of a conversation: a list of them, a prompt, or what
// has one message.
func (in *input) itemsIn(name string, v json.RawMessage, line int) []json.RawMessage {
	if s, is := textOf(v); is {
		if s == "" {
			return nil
		}
		return []json.RawMessage{append(append(json.RawMessage(`{"role":"user","content":`), v...), '}')}
	}
	list, is := listOf(v)
	switch {
	case empty(v):
	case v[0] == '{':
		return []json.RawMessage{v}
	case !is:
		in.refuse(line, name, string(v), "a list of messages")
	case name == "choices" && len(list) > 0:
		list = []json.RawMessage{objectOf(list[0])["message"]}
	}
	return list
}

// clock reads a time: of RFC 3339, or a number of seconds since 1970, or of thousandths,
// millionths or billionths of them.
func clock(raw json.RawMessage) (time.Time, bool) {
	if s, is := textOf(raw); is {
		for _, layout := range layouts {
			if t, err := time.Parse(layout, s); err == nil {
				return t.UTC(), true
			}
		}
		raw = json.RawMessage(s)
	}
	const most = 1e11 // seconds, until the year 5138
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n <= 0 || n >= most*1e9 {
		return time.Time{}, false
	}
	for n >= most {
		n /= 1000
	}
	return time.UnixMicro(int64(math.Round(n * 1e6))).UTC(), true
}

// continued returns of each of n conversations the last one that goes on with it, else its own number.
// A conversation ends behind so many of its items. What is said in another thread is another run.
func continued(n int, of func(i int) (thread string, items []json.RawMessage, ends int)) []int {
	ended := make(map[uint64]int) // the conversation that ends with that sum
	later := make([]int, n)
	for i := range n {
		later[i] = i
		thread, items, ends := of(i)
		sums := sumsOf(thread, items)
		for _, sum := range sums[1:] {
			if before, there := ended[sum]; there {
				later[before] = i
				delete(ended, sum)
			}
		}
		if ends > 0 {
			ended[sums[ends]] = i
		}
	}
	for i := range slices.Backward(later) {
		later[i] = later[later[i]]
	}
	return later
}

// sumsOf returns a sum of the first n items of a thread for each n.
func sumsOf(thread string, items []json.RawMessage) []uint64 {
	sums := []uint64{hash.String(thread)}
	for i, item := range items {
		sums = append(sums, jsonhash.Sum(fmt.Appendf(nil, "[%d,%d]", sums[i], jsonhash.Sum(item))))
	}
	return sums
}
