package policy

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
)

// The events of the lines about requests. Every tools/call has a line at its end,
// and one that writes has another line before it begins.
const (
	eventToolStarted      = "mcp.tool_call.started"
	eventToolCall         = "mcp.tool_call.completed"
	eventRequestStarted   = "mcp.request.started"
	eventRequestCompleted = "mcp.request.completed"
)

const (
	// maxAudited bounds one text in a line of audit, in bytes.
	maxAudited = 1 << 10
	// maxExamined bounds what of it is looked at for secrets.
	maxExamined = 16 << 10
)

// An auditor writes the audit lines, all to one place.
type auditor struct {
	sink   *sink
	lines  slog.Handler            // for what is recorded
	calls  map[string]slog.Handler // for requests, by event: what is the same in every line is written out already
	redact *redact.Redactor
	prefix string
	labels [32]byte // key of the labels of sessions
	count  atomic.Uint64
}

// newAuditor writes to w; if w is nil, to the standard stream that the
// transports leave free.
func newAuditor(w io.Writer, r *redact.Redactor, mode Mode) *auditor {
	a := &auditor{sink: newSink(w), redact: r, prefix: newID() + "-"}
	rand.Read(a.labels[:]) // never fails
	a.lines = slog.NewJSONHandler(a.sink, nil)
	a.calls = make(map[string]slog.Handler)
	for _, event := range []string{eventToolStarted, eventToolCall, eventRequestStarted, eventRequestCompleted} {
		a.calls[event] = a.lines.WithAttrs([]slog.Attr{slog.String("event", event), slog.String("mode", mode.String())})
	}
	return a
}

func (a *auditor) nextID() string { return a.prefix + strconv.FormatUint(a.count.Add(1), 10) }

// text returns what may be written of a text that a caller influenced. If the
// text was too long to be examined whole, its last word is removed too: it may
// be the first half of a secret.
func (a *auditor) text(s string) string {
	cut := len(s) > maxExamined
	if cut {
		s = text.Clip(s, maxExamined)
	}
	s = a.redact.Text(s)
	if cut {
		s = s[:max(strings.LastIndexAny(s, " \t\n\",;"), 0)] + "…"
	}
	return text.Clip(s, maxAudited)
}

// label returns a name for a session in the audit log. All lines of a session
// have the same label, and the session's identifier cannot be derived from it.
func (a *auditor) label(session string) string {
	if session == "" {
		return ""
	}
	mac := hmac.New(sha256.New, a.labels[:])
	mac.Write([]byte(session))
	return "s-" + hex.EncodeToString(mac.Sum(nil)[:8])
}

// started writes that a request begins. The error is the sink's.
func (a *auditor) started(ctx context.Context, acc *access) error {
	event := eventToolStarted
	if acc.method != "" {
		event = eventRequestStarted
	}
	return line(ctx, a.calls[event], slog.LevelInfo, event, a.about(acc))
}

// completed writes the result of a request.
func (a *auditor) completed(ctx context.Context, acc *access) {
	level, result, event := slog.LevelInfo, "success", eventToolCall
	if acc.detail != "" {
		level, result = slog.LevelWarn, "error"
	}
	if acc.method != "" {
		event = eventRequestCompleted
	}
	took := time.Since(acc.began)
	attrs := append(a.about(acc),
		slog.String("result", result),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.String("error_detail", a.text(acc.detail)))
	if acc.remote != "" {
		attrs = append(attrs, slog.String("remote", acc.remote))
	}
	_ = line(ctx, a.calls[event], level, event, attrs) // the sink counts it; AuditHealth reports it
}

// about returns what is known of a request when it begins.
func (a *auditor) about(acc *access) []slog.Attr {
	tool := acc.tool
	if acc.row == nil {
		tool = a.text(tool)
	}
	attrs := make([]slog.Attr, 0, 14)
	attrs = append(attrs,
		slog.String("request_id", acc.id),
		slog.String("session_id", a.label(acc.session)),
		slog.String("transport", acc.transport))
	if acc.method != "" {
		attrs = append(attrs, slog.String("method", a.text(acc.method)))
	} else {
		attrs = append(attrs, slog.String("tool", tool))
	}
	return append(attrs,
		slog.String("caller_subject", a.text(acc.caller.Subject)),
		slog.String("target", a.text(acc.target)))
}

// line writes one line, and returns the error of the sink.
func line(ctx context.Context, h slog.Handler, level slog.Level, event string, attrs []slog.Attr) error {
	r := slog.NewRecord(time.Now(), level, event, 0)
	r.AddAttrs(attrs...)
	return h.Handle(ctx, r)
}

// Record writes an audit line for an action of the host itself. event is its
// name, such as "chaos.fault.delivered". Text in attrs is redacted, also in
// groups, and so is every value under a name such as token. Values of other
// types are written as they print. The line goes where those of calls go; one
// that could not be written is counted ([Gate.AuditHealth]).
func (g *Gate) Record(ctx context.Context, event string, attrs ...slog.Attr) {
	clean := make([]slog.Attr, 0, len(attrs)+1)
	clean = append(clean, slog.String("event", event))
	for _, attr := range attrs {
		clean = append(clean, g.audit.attr(attr))
	}
	_ = line(ctx, g.audit.lines, slog.LevelInfo, event, clean)
}

// attr returns an attribute as it may be written: its name alone can mark it as
// a secret.
func (a *auditor) attr(attr slog.Attr) slog.Attr {
	value := attr.Value.Resolve()
	if redact.SecretName(attr.Key) {
		return slog.String(attr.Key, redact.Marker)
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

// Redact replaces credentials in a text by a marker. It knows them by their forms:
//
//   - bearer and basic credentials
//   - values of names such as token, password, api_key and cookie: as key=value, as headers, as JSON members,
//     escaped ones too, as elements of XML, as flags of a command (--password x, -p x, -u user:pass)
//   - codes, tickets and assertions in the query of a URL (?code=x)
//   - user:pass@ with or without a URL, and the paths of web hooks
//   - PEM blocks, JSON web tokens, and tokens with well-known prefixes (sk-, ghp_,
//     github_pat_, glpat-, AKIA, xoxb-, AIza, hvs. and others)
//
// It also finds these secrets: verbatim, as in URLs, Go strings and JSON, and in
// base64, also as a part of what is encoded; in no other spelling, such as
// hexadecimal. Blank ones are ignored.
//
// It is idempotent. It works on text, so it cannot recognise a secret that stands in
// a sentence and is not among secrets: better not to log it. A text that
// keeps changing after a few passes is replaced whole.
func Redact(s string, secrets ...string) string {
	return redact.New(secrets, redact.Patterns).Text(s)
}
