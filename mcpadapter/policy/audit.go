package policy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// eventToolCall is the event of the one line that every tools/call leaves.
	eventToolCall = "mcp.tool_call.completed"
	// maxAudited bounds one text in a line of audit, in bytes.
	maxAudited = 1 << 10
	// maxExamined bounds what of it is looked at for secrets.
	maxExamined = 16 << 10
)

// An auditor writes the lines.
type auditor struct {
	http, other *slog.Logger    // for what is recorded
	calls       [2]*slog.Logger // for calls, over HTTP and else: what is the same in every line is written out already
	redact      *redactor
	prefix      string
	count       atomic.Uint64
}

// newAuditor writes to w, or to where each transport leaves room.
func newAuditor(w io.Writer, r *redactor, mode Mode) *auditor {
	logger := func(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }
	a := &auditor{redact: r, prefix: newID() + "-"}
	if w != nil {
		a.http = logger(w)
		a.other = a.http
	} else {
		a.http, a.other = logger(os.Stdout), logger(os.Stderr)
	}
	for i, l := range []*slog.Logger{a.http, a.other} {
		a.calls[i] = l.With(slog.String("event", eventToolCall), slog.String("mode", mode.String()))
	}
	return a
}

func (a *auditor) logger(transport string) *slog.Logger {
	if transport == transportStdio {
		return a.calls[1]
	}
	return a.calls[0]
}

// text is what may be written of something that a caller had a hand in. Where it
// was too long to be looked at whole, the last word goes too: it may be the
// first half of a secret.
func (a *auditor) text(s string) string {
	cut := len(s) > maxExamined
	if cut {
		s = clip(s, maxExamined)
	}
	s = a.redact.text(s)
	if cut {
		s = s[:max(strings.LastIndexAny(s, " \t\n\",;"), 0)] + "…"
	}
	return clip(s, maxAudited)
}

// toolCall writes the line of one call.
func (a *auditor) toolCall(ctx context.Context, v *visit) {
	level, result := slog.LevelInfo, "success"
	if v.detail != "" {
		level, result = slog.LevelWarn, "error"
	}
	tool := v.tool
	if v.row == nil {
		tool = a.text(tool)
	}
	took := time.Since(v.began)
	a.logger(v.transport).LogAttrs(ctx, level, eventToolCall,
		slog.String("request_id", a.prefix+strconv.FormatUint(a.count.Add(1), 10)),
		slog.String("session_id", v.session),
		slog.String("transport", v.transport),
		slog.String("tool", tool),
		slog.String("caller_subject", a.text(v.caller.Subject)),
		slog.String("target", a.text(v.target)),
		slog.String("result", result),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.String("error_detail", a.text(v.detail)),
	)
}

// Record writes an audit line of the host's own, for what it does without being
// called: event is its name, such as "chaos.fault.delivered". Text in attrs is
// redacted, groups and all, and so is whatever stands under a name such as
// token; values of other types are written as they print.
// The line goes where those of calls without HTTP go.
func (g *Gate) Record(ctx context.Context, event string, attrs ...slog.Attr) {
	line := make([]slog.Attr, 0, len(attrs)+1)
	line = append(line, slog.String("event", event))
	for _, attr := range attrs {
		line = append(line, g.audit.attr(attr))
	}
	g.audit.other.LogAttrs(ctx, slog.LevelInfo, event, line...)
}

// attr is an attribute as it may be written: its name alone can say that it is a
// secret.
func (a *auditor) attr(attr slog.Attr) slog.Attr {
	value := attr.Value.Resolve()
	if secretName(attr.Key) {
		return slog.String(attr.Key, redacted)
	}
	switch value.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindDuration, slog.KindTime:
		return attr
	case slog.KindString:
		return slog.String(attr.Key, a.text(value.String()))
	case slog.KindGroup:
		var group []any
		for _, member := range value.Group() {
			group = append(group, a.attr(member))
		}
		return slog.Group(attr.Key, group...)
	}
	return slog.String(attr.Key, a.text(fmt.Sprint(value.Any())))
}
