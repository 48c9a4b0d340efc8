package dialect

import (
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/contract/findings"
)

// readMCPProxy reads the lines of one session, or of several: each begins with a line
// session_start.
func readMCPProxy(in *input) {
	var r *record
	var open map[string]int
	for _, d := range in.objects() {
		m := objectOf(d.raw)
		kind, detail := m.text("kind"), m.object("detail")
		seconds, err := strconv.ParseFloat(string(m["t"]), 64)
		if err != nil || seconds < 0 || seconds > math.MaxInt32 {
			in.refuse(d.line, "t", string(m["t"]), "seconds since the session began, from 0")
			continue
		}
		if r == nil || kind == "session_start" {
			r, open = in.newRecord(""), make(map[string]int)
			r.timed, r.zero = true, new(int64)
		}
		if began := detail.text("started_at"); kind == "session_start" && began != "" {
			*r.zero = in.time(d.line, "detail.started_at", began)
			r.began = time.Unix(0, *r.zero).UTC()
		}
		at := *r.zero + int64(math.Round(seconds*1e6))*int64(time.Microsecond)
		in.proxy(r, open, d.line, m, at)
	}
}

// proxy reads what happened at a time. Of arguments and results a line has only how long they
// were.
func (in *input) proxy(r *record, open map[string]int, line int, m members, at int64) {
	detail := m.object("detail")
	id := string(detail["id"])
	switch kind := m.text("kind"); kind {
	case "tool_call":
		n := node{
			kind: tool, name: m.text("tool"), start: at, end: at, open: true,
			argsHash: detail.text("args_hash"), noArgs: true, noResult: true,
		}
		if n.name == "" {
			in.refuse(line, "tool", string(m["tool"]), "the name of a tool")
			return
		}
		if before, there := open[id]; there && reflect.DeepEqual(r.nodes[before], n) {
			return // the line is there twice
		}
		open[id] = len(r.nodes)
		in.add(r, line, n)
	case "tool_result", "fault":
		call, there := open[id]
		if !there {
			r.lose(1, "an answer to a call that is not in the record")
			return
		}
		passed := kind == "fault" && detail.text("mode") != "short_circuit" // to the server, whose result follows
		if !passed {
			delete(open, id)
		}
		n := &r.nodes[call]
		if at < n.start {
			in.refuse(line, "t", string(m["t"]), "not before that of the call")
		}
		n.end, n.open = at, false
		switch {
		case kind == "fault":
			if n.fail(detail.text("type"), 0); !passed {
				n.effect = findings.NotDone
			}
		case string(detail["ok"]) == "true":
			n.failure, n.noResult, n.succeeded = nil, true, true
		case n.failure == nil:
			n.fail("", 0)
		}
	}
}
