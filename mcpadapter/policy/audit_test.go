package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/redact"
)

func TestWhereAuditLinesGo(t *testing.T) {
	g, err := New(&Options{Tokens: []Token{{Value: "a-token-of-nobody"}}})
	require.NoError(t, err)
	s := g.audit.sink
	assert.Same(t, os.Stderr, s.standardStream(), "its standard output may be the protocol")
	_, err = g.HTTPHandler(http.NotFoundHandler(), nil)
	require.NoError(t, err)
	assert.Same(t, os.Stdout, s.standardStream(), "all lines of a server over HTTP")
	g.ReserveStdout()
	assert.Same(t, os.Stderr, s.standardStream(), "both transports in one process")
	var b bytes.Buffer
	g, err = New(&Options{Audit: &b})
	require.NoError(t, err)
	g.ReserveStdout()
	assert.Same(t, &b, g.audit.sink.writer(), "a writer of the host's own takes all")
}

func TestALineHasTheseMembersAndNoOthers(t *testing.T) {
	var b bytes.Buffer
	g, err := New(&Options{Audit: &b})
	require.NoError(t, err)
	g.audit.completed(t.Context(), &access{gate: g, began: time.Now(), tool: "t", detail: "d"})
	var line map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &line))
	for _, name := range []string{"time", "level", "msg", "event", "request_id", "session_id", "transport", "tool", "mode", "caller_subject", "target", "result", "duration_ms", "error_detail"} {
		assert.Contains(t, line, name)
		delete(line, name)
	}
	assert.Empty(t, line)
}

func TestRecord(t *testing.T) {
	var b bytes.Buffer
	g, err := New(&Options{Audit: &b, Tokens: []Token{{Value: "quiet-evening"}}})
	require.NoError(t, err)
	g.Record(t.Context(), "chaos.fault.delivered", slog.String("target", "refund"), slog.Int("attempt", 2), slog.String("password", "x"),
		slog.Any("err", errors.New("token=abc")), slog.Group("call", slog.String("args", "quiet-evening"), slog.Any("api_key", 7)), slog.Duration("took", time.Second))
	var line map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &line))
	delete(line, "time")
	assert.Equal(t, map[string]any{"level": "INFO", "msg": "chaos.fault.delivered", "event": "chaos.fault.delivered", "target": "refund", "attempt": 2.0, "password": "[redacted]",
		"err": "token=[redacted]", "call": "[args=[redacted] api_key=[redacted]]", "took": 1e9}, line)
}

func TestLongTextsAreCut(t *testing.T) {
	a := newAuditor(nil, redact.New(nil, redact.Patterns), ReadOnly)
	assert.LessOrEqual(t, len(a.text(strings.Repeat("é", 5000))), maxAudited+len("…"))
	half := strings.Repeat("x ", (maxExamined-16)/2) + "ghp_0123456789abcdef0123" // cut inside the token
	assert.NotContains(t, a.text(half), "ghp_")
	assert.Equal(t, "…", a.text(strings.Repeat("x", 2*maxExamined)), "one word that nobody has looked at whole")
	assert.True(t, strings.HasSuffix(a.text(strings.Repeat("no rooms ", 500)), "…"))
}
