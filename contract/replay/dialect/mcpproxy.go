package dialect

import (
	"encoding/json"
	"math"
	"reflect"
	"time"

	"github.com/shakedown-go/shakedown/contract/findings"
)

// A proxyLine is what a proxy before an MCP server wrote: that something happened, and
// of arguments and results only how long they were.
type proxyLine struct {
	T      float64 `json:"t"` // seconds since the session began
	Kind   string  `json:"kind"`
	Tool   string  `json:"tool"`
	Detail struct {
		StartedAt string          `json:"started_at"`
		ID        json.RawMessage `json:"id"`
		ArgsHash  string          `json:"args_hash"`
		OK        bool            `json:"ok"`
		Type      string          `json:"type"` // of a fault
		Mode      string          `json:"mode"`
	} `json:"detail"`
}

func toldMCPProxy(s *shape) bool { return s.has("t") && s.has("kind") && s.has("detail") }

// readMCPProxy reads the lines of one session, or of several: each begins with a line
// session_start.
func readMCPProxy(in *input) {
	var r *record
	var open map[string]int
	for _, d := range in.objects() {
		var l proxyLine
		if !in.decode(d, &l) {
			continue
		}
		if l.T < 0 || l.T > math.MaxInt32 {
			in.refuse(d.line, "t", l.T, "seconds since the session began, from 0")
			continue
		}
		if r == nil || l.Kind == "session_start" {
			r, open = in.newRecord(""), make(map[string]int)
			r.timed, r.zero = true, new(int64)
		}
		if l.Kind == "session_start" && l.Detail.StartedAt != "" {
			*r.zero = in.time(d.line, "detail.started_at", l.Detail.StartedAt)
			r.began = time.Unix(0, *r.zero).UTC()
		}
		in.proxy(r, open, d.line, &l)
	}
}

func (in *input) proxy(r *record, open map[string]int, line int, l *proxyLine) {
	at, id := *r.zero+int64(math.Round(l.T*1e6))*int64(time.Microsecond), string(l.Detail.ID)
	switch l.Kind {
	case "tool_call":
		if l.Tool == "" {
			in.refuse(line, "tool", nil, "the name of a tool")
			return
		}
		n := node{
			kind: tool, name: l.Tool, start: at, end: at, open: true,
			argsHash: l.Detail.ArgsHash, noArgs: true, noResult: true,
		}
		if before, there := open[id]; there && reflect.DeepEqual(r.nodes[before], n) {
			return // the line is there twice
		}
		open[id] = len(r.nodes)
		in.add(r, line, n)
	case "tool_result", "fault":
		call, there := open[id]
		if !there || call >= len(r.nodes) {
			r.lose(1, "an answer to a call that is not in the record")
			return
		}
		passed := l.Kind == "fault" && l.Detail.Mode != "short_circuit" // to the server, whose result follows
		if !passed {
			delete(open, id)
		}
		n := &r.nodes[call]
		if at < n.start {
			in.refuse(line, "t", l.T, "not before that of the call")
		}
		n.end, n.open = at, false
		switch {
		case l.Kind == "fault":
			if n.fail(l.Detail.Type, 0); !passed {
				n.effect = findings.NotDone
			}
		case l.Detail.OK:
			n.failure, n.noResult, n.succeeded = nil, true, true
		case n.failure == nil:
			n.fail("", 0)
		}
	}
}
