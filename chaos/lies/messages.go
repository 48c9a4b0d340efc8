package lies

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Messages says which list of messages a lie about an agent's context or memory
// acts on, and which of its messages it may change. The zero value is the
// result, or a list of messages in it, without its system messages.
//
// A list of messages is a list of objects with a role, as in the interfaces of
// OpenAI and Anthropic. The content is a text or a list of parts, and a system
// message has the role system or developer. (Anthropic's interface keeps the
// system prompt outside of the list.)
type Messages struct {
	_ struct{}
	// Path is the JSON path of the list; empty: the result itself, or else a
	// drawn list of messages in it.
	Path string
	// System lets system messages be cut, dropped and moved too.
	System bool
}

// history completes a lie about lists of messages. apply is given the list and
// the messages in it that may be changed; there are at least least of them.
func (o Messages) history(kind string, class chaos.Class, least int, params map[string]any, check func(*param.Check),
	apply func(e *edit, list int, free []int) bool) chaos.Fault {
	all := map[string]any{}
	maps.Copy(all, params)
	if o.System {
		all["system"] = true
	}
	var paths []string
	if o.Path != "" {
		paths = []string{o.Path}
	}
	return lie{kind: kind, class: class, one: true, layer: chaos.LayerContext, params: all, check: check,
		wants: "list of messages",
		rank: func(e *edit, i int) int {
			switch {
			case e.doc.Kind(i) != jsonedit.Array || !isHistory(e, i):
				return 0
			case i == 0 || e.addressed:
				return 1
			}
			return 2
		},
		apply: func(e *edit, i int) bool {
			free := o.free(e, i)
			return len(free) >= least && apply(e, i, free)
		}}.at(paths)
}

// isHistory reports whether a list is one of messages: all its elements have a role.
func isHistory(e *edit, i int) bool {
	rows := e.doc.Children(i)
	for _, row := range rows {
		if role, ok := e.doc.Member(row, "role"); !ok || e.doc.Kind(role) != jsonedit.String {
			return false
		}
	}
	return len(rows) > 0
}

// free are the messages of a list that may be changed.
func (o Messages) free(e *edit, list int) (free []int) {
	for _, m := range e.doc.Children(list) {
		if role := roleOf(e, m); o.System || role != "system" && role != "developer" {
			free = append(free, m)
		}
	}
	return free
}

func roleOf(e *edit, message int) string {
	role, _ := e.doc.Member(message, "role")
	return e.doc.String(role)
}

// TruncateMessages keeps the newest messages and drops the older ones, as an
// agent does that runs out of its context window. keep is 0 or more and does
// not count system messages.
func TruncateMessages(keep int, o Messages) chaos.Fault {
	return o.history("truncated_messages", chaos.ClassOmission, keep+1, map[string]any{"keep": keep}, atLeast("keep", keep, 0),
		func(e *edit, _ int, free []int) bool { return e.remove(free[:len(free)-keep]...) })
}

// StaleMessages drops the newest n messages, 1 or more, but leaves one: the
// agent continues from an earlier state.
func StaleMessages(n int, o Messages) chaos.Fault {
	return o.history("stale_messages", chaos.ClassOmission, 2, map[string]any{"n": n}, atLeast("n", n, 1),
		func(e *edit, _ int, free []int) bool { return e.remove(free[max(1, len(free)-n):]...) })
}

// DropMessages drops n drawn messages, 1 or more, but leaves one. A tool's
// answer may lose its question that way, and a provider may refuse the rest.
func DropMessages(n int, o Messages) chaos.Fault {
	return o.history("dropped_messages", chaos.ClassOmission, 2, map[string]any{"n": n}, atLeast("n", n, 1),
		func(e *edit, list int, free []int) bool {
			return e.remove(e.shuffled(list, free)[:min(n, len(free)-1)]...)
		})
}

// ReorderMessages exchanges the places of two drawn messages that differ.
func ReorderMessages(o Messages) chaos.Fault {
	return o.history("reordered_messages", chaos.ClassValue, 2, nil, nil, func(e *edit, _ int, free []int) bool {
		pairs := pairsOf(e, free)
		if len(pairs) == 0 {
			return false
		}
		p := pairs[e.pick(free[0], 0, len(pairs))]
		return e.exchange(p[0], p[1])
	})
}

// DuplicateMessage repeats a drawn message directly after itself.
func DuplicateMessage(o Messages) chaos.Fault {
	return o.history("duplicated_message", chaos.ClassValue, 1, nil, nil, func(e *edit, list int, free []int) bool {
		twice := free[e.pick(list, 0, len(free))]
		var order []int
		for _, m := range e.doc.Children(list) {
			if order = append(order, m); m == twice {
				order = append(order, m)
			}
		}
		return e.arrange(list, order)
	})
}

// NoiseMessages adds n messages of a user, 1 to 1000, about something else
// before the last one. Each is drawn from texts, or from a few of small talk if
// texts is empty.
func NoiseMessages(n int, texts []string, o Messages) chaos.Fault {
	params := map[string]any{"n": n}
	if len(texts) > 0 {
		params["texts"] = texts
	}
	said := texts
	if len(said) == 0 {
		said = []string{"By the way, the printer on the second floor works again.", "Did you see the match last night?",
			"Lunch is at half past twelve today.", "Someone left the lights on in room 12.", "The parking lot is closed on Friday."}
	}
	check := func(c *param.Check) {
		c.That(n >= 1 && n <= 1000, "n", n, "from 1 to 1000")
		nonEmpty(c, "texts", texts)
	}
	return o.history("noise_messages", chaos.ClassValue, 1, params, check, func(e *edit, list int, free []int) bool {
		for k := range n {
			e.insertBefore(free[len(free)-1], message("user", said[e.pick(list, k, len(said))]))
		}
		return true
	})
}

// OverflowMessages makes the content of a drawn message so long that the list
// has the given number of bytes, up to 64 MiB: more than the model reads.
func OverflowMessages(bytes int, o Messages) chaos.Fault {
	check := func(c *param.Check) {
		c.That(bytes > 0 && bytes <= maxOversize, "bytes", bytes, "from 1 to 67108864")
	}
	return o.history("overflowed_messages", chaos.ClassValue, 1, map[string]any{"bytes": bytes}, check, func(e *edit, list int, free []int) bool {
		first := e.pick(list, 0, len(free))
		missing := bytes - len(e.doc.Raw(list))
		for k := range free {
			i, ok := contentOf(e, free[(first+k)%len(free)])
			if !ok || missing <= 0 || e.doc.String(i) == "" {
				continue
			}
			text := e.doc.String(i)
			return e.replace(i, jsonedit.Quote(grown(text+" ", len(text)+missing)))
		}
		return false
	})
}

// contentOf finds the text of a message: its content, or that of its first part.
func contentOf(e *edit, message int) (i int, ok bool) {
	if i, ok = e.doc.Member(message, "content"); !ok || e.doc.Kind(i) == jsonedit.String {
		return i, ok
	}
	for _, part := range e.doc.Children(i) {
		if i, ok = e.doc.Member(part, "text"); ok && e.doc.Kind(i) == jsonedit.String {
			return i, true
		}
	}
	return 0, false
}

// Poison adds a false memory: a text in the voice of the given role, by default
// the assistant's, as the second last of the messages. For a result that is no
// list of messages there is [Instruct].
func Poison(text, role string, o Messages) chaos.Fault {
	params := map[string]any{"text": text}
	if role != "" {
		params["role"] = role
	}
	check := func(c *param.Check) { nonEmpty(c, "text", []string{text}) }
	return o.history("poisoned_memory", chaos.ClassAdversarial, 1, params, check, func(e *edit, _ int, free []int) bool {
		return e.insertBefore(free[len(free)-1], message(cmp.Or(role, "assistant"), text))
	})
}

func message(role, text string) []byte {
	return fmt.Appendf(nil, `{"role":%s,"content":%s}`, jsonedit.Quote(role), jsonedit.Quote(text))
}

// RollBack returns the state of a memory as it was lag calls ago, from 1 to 64,
// in place of its present state: what was remembered since is lost. It is
// [Stale] for a memory.
func RollBack(lag int) chaos.Fault { return stale("rolled_back_memory", lag, chaos.LayerContext) }

func atLeast(name string, v, least int) func(*param.Check) {
	return func(c *param.Check) { c.That(v >= least, name, v, fmt.Sprintf("%d or more", least)) }
}

// nonEmpty refuses texts that say nothing.
func nonEmpty(c *param.Check, name string, texts []string) {
	for i, text := range texts {
		at := name
		if len(texts) > 1 {
			at = fmt.Sprintf("%s[%d]", name, i)
		}
		c.That(strings.TrimSpace(text) != "", at, fmt.Sprintf("%q", text), "a text that is not empty")
	}
}
