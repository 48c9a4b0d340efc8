package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// complete looks for the calls that have no step of their own in a record: where no call of
// a tool has one, it makes them of the messages of the models; else it counts those that the
// models asked for and that have none.
func (in *input) complete(r *record) {
	var models []int
	tools := make(map[string]int)
	inside := make(map[string]bool)
	for i := range r.nodes {
		n := &r.nodes[i]
		inside[n.parent] = true
		switch n.kind {
		case model:
			models = append(models, i)
		case tool:
			tools[n.name]++
		}
	}
	for i := range r.nodes {
		switch n := &r.nodes[i]; {
		case n.note == namesTool:
			r.lose(1, fmt.Sprintf("step %s, which names a tool in a form that is not read", n.name))
		case n.note == hasContent && !inside[n.id]:
			r.mention(fmt.Sprintf("step %s has an input and an output, and does not say what it is", n.name))
		}
	}
	slices.SortStableFunc(models, func(a, b int) int { return cmp.Compare(r.nodes[a].start, r.nodes[b].start) })
	switch {
	case len(models) == 0:
	case len(tools) == 0:
		in.callsOfModels(r, models)
	default:
		r.countAsked(models, tools)
	}
}

// countAsked counts the calls that models asked for beyond those that have a step. A step may
// have the name of a server in front of that of its tool.
func (r *record) countAsked(models []int, tools map[string]int) {
	asked := make(map[string]map[string]bool) // ids by name
	for _, at := range models {
		for _, raw := range r.nodes[at].told {
			for i, c := range itemOf(raw).calls() {
				name, _ := c.function()
				if asked[name] == nil {
					asked[name] = make(map[string]bool)
				}
				asked[name][cmp.Or(c.callID(), fmt.Sprint(at, "/", i))] = true
			}
		}
	}
	for name, ids := range asked {
		have := 0
		for tool, n := range tools {
			server, is := strings.CutSuffix(tool, name)
			if is && (server == "" || strings.ContainsRune("._/", rune(server[len(server)-1]))) {
				have += n
			}
		}
		if len(ids) > have && !strings.HasPrefix(name, "transfer_to_") { // a handoff is no call
			r.lose(len(ids)-have, "a call of "+name+" that a model asked for and that has no step of its own")
		}
	}
}

// A history is what a model was asked and what it told, as items of a conversation.
type history struct {
	items []json.RawMessage
	asked int     // of the items
	model int     // its node
	at    []int64 // the place behind each item, once it was read
}

// callsOfModels makes the calls of a record out of what its models were asked and told. They
// have no times, so that those of the models become places among them.
func (in *input) callsOfModels(r *record, models []int) {
	histories := make([]history, len(models))
	for i, at := range models {
		n := &r.nodes[at]
		histories[i] = history{items: slices.Concat(n.asked, n.told), asked: len(n.asked), model: at}
	}
	whole := continued(len(histories), func(i int) (string, []json.RawMessage, int) {
		return "", histories[i].items, histories[i].asked
	})
	before := len(r.nodes)
	t := newTranscript(in, r, 1)
	t.once = true
	unknown := 0
	for i := range histories {
		h := &histories[i]
		if whole[i] != i {
			continue
		}
		for _, raw := range h.items {
			t.item(itemOf(raw), raw)
			h.at = append(h.at, t.at)
		}
		if len(h.items) == h.asked {
			unknown++
		}
	}
	if unknown > 0 {
		r.lose(unknown, "the last answer of a model, which was not recorded and may ask for calls")
	}
	if len(r.nodes) == before {
		return
	}
	if r.began.IsZero() && r.timed {
		r.began = time.Unix(0, r.base()).UTC()
	}
	r.timed, r.zero = false, nil
	order := make([]int, before)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.nodes[a].start, r.nodes[b].start) })
	for rank, i := range order { // before all calls, in their order
		r.nodes[i].start, r.nodes[i].end = int64(rank-before), int64(rank-before)
	}
	for i := range histories {
		h := &histories[i]
		if n := &r.nodes[h.model]; h.asked > 0 {
			n.start = histories[whole[i]].at[h.asked-1]
			n.end = n.start
		}
	}
}
