package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
		"err": "token=[redacted]", "call": map[string]any{"args": "[redacted]", "api_key": "[redacted]"}, "took": 1e9}, line)
}

func TestLongTextsAreCut(t *testing.T) {
	a := newAuditor(nil, redact.New(nil, redact.Patterns), ReadOnly)
	assert.LessOrEqual(t, len(a.text(strings.Repeat("é", 5000))), maxAudited+len("…"))
	half := strings.Repeat("x ", (maxExamined-16)/2) + "ghp_0123456789abcdef0123" // cut inside the token
	assert.NotContains(t, a.text(half), "ghp_")
	assert.Equal(t, "…", a.text(strings.Repeat("x", 2*maxExamined)), "one word that nobody has looked at whole")
	assert.True(t, strings.HasSuffix(a.text(strings.Repeat("no rooms ", 500)), "…"))
}

// Whatever a caller writes, a line of audit shows it: nothing in it moves a
// cursor, ends a line or reverses the text.
func TestALineIsVisible(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String().Draw(r, "text") + rapid.StringOf(rapid.SampledFrom([]rune("a\x00\x1b\x7f\u0080\u009b\u009f\u202e\u2066\n\r\"\\é"))).Draw(r, "controls")
		var b bytes.Buffer
		g, err := New(&Options{Audit: &b})
		require.NoError(r, err)
		g.audit.completed(t.Context(), &access{gate: g, began: time.Now(), tool: text, detail: text, target: text, session: text})
		line := b.String()
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
			r.Fatalf("not one line: %q", line)
		}
		for _, c := range strings.TrimSuffix(line, "\n") {
			if c < ' ' || hidden(c) {
				r.Fatalf("%U is in %q", c, line)
			}
		}
		var members map[string]any
		if err := json.Unmarshal(b.Bytes(), &members); err != nil {
			r.Fatalf("%q: %v", line, err)
		}
		want := g.audit.text(strings.ToValidUTF8(text, "\uFFFD"))
		if got := members["target"]; got != want {
			r.Fatalf("target is %q, want %q", got, want)
		}
	})
}

// The reader of standard output goes away: the lines are counted, and the process,
// which is this test in another one, goes on.
func TestTheReaderOfTheLogGoesAway(t *testing.T) {
	if os.Getenv("TEST_WITHOUT_A_READER") != "" {
		g, err := New(nil)
		require.NoError(t, err)
		g.audit.sink.overWeb = true
		g.Record(t.Context(), "test.first")
		g.Record(t.Context(), "test.second")
		lost, err := g.AuditHealth()
		fmt.Fprintln(os.Stderr, lost, "lines are lost:", err)
		os.Exit(0) // a test would say on standard output how it went
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	defer w.Close()
	var said bytes.Buffer
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "TEST_WITHOUT_A_READER=1"), w, &said
	require.NoError(t, cmd.Run(), said.String())
	assert.Contains(t, said.String(), "2 lines are lost: write /dev/stdout: ")
}

// flaky is a writer that fails by plan: it writes a part, nothing, or all.
type flaky struct {
	written bytes.Buffer
	next    func(n int) (write int, err error)
}

func (f *flaky) Write(p []byte) (int, error) {
	n, err := f.next(len(p))
	f.written.Write(p[:n])
	return n, err
}

// However the writer fails, each line is whole, or counted as lost. (One that
// lacks nothing but its end is both.)
func TestEveryLineIsWrittenOrCounted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		broken := true
		f := &flaky{next: func(n int) (int, error) {
			switch {
			case !broken || draw.IntN(3) > 0:
				return n, nil
			case draw.IntN(2) == 0:
				return draw.IntN(n - 1), nil // a writer that says nothing of it
			}
			return draw.IntN(n - 1), errors.New("no space left")
		}}
		g, err := New(&Options{Audit: f})
		require.NoError(r, err)
		total := rapid.IntRange(0, 50).Draw(r, "lines")
		for i := range total {
			g.Record(t.Context(), "e", slog.Int("i", i))
		}
		broken = false
		g.Record(t.Context(), "last")
		whole, lost := 0, 0.0
		for text := range strings.Lines(f.written.String()) {
			var line map[string]any
			switch err := json.Unmarshal([]byte(text), &line); {
			case err != nil: // torn
			case line["event"] == "mcp.audit.lost":
				lost += line["lines"].(float64)
			default:
				whole++
			}
		}
		if counted, err := g.AuditHealth(); whole+int(lost) < total+1 || uint64(lost) != counted || err != nil {
			r.Fatalf("%d lines, %d whole, %v lost, %d counted, %v", total+1, whole, lost, counted, err)
		}
	})
}

func TestLabelsOfSessions(t *testing.T) {
	g, err := New(nil)
	require.NoError(t, err)
	other, err := New(nil)
	require.NoError(t, err)
	assert.Equal(t, g.audit.label("abc"), g.audit.label("abc"), "the lines of a session belong together")
	assert.NotEqual(t, g.audit.label("abc"), g.audit.label("abd"))
	assert.NotEqual(t, g.audit.label("abc"), other.audit.label("abc"), "nobody can try identifiers elsewhere")
	assert.Empty(t, g.audit.label(""))
	assert.NotContains(t, g.audit.label("not hexadecimal"), "not hexadecimal")
}

// A writer that does not return, such as a pipe that nobody reads, delays one line
// for two seconds, and no other. What it does later is reported correctly.
func TestAWriterThatBlocks(t *testing.T) {
	for _, mended := range []struct {
		name string
		err  error
		lost uint64 // of three lines
	}{{"it writes in the end", nil, 2}, {"it fails in the end", errors.New("broken pipe"), 3}} {
		t.Run(mended.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate, f := make(chan struct{}), &flaky{}
				f.next = func(n int) (int, error) {
					<-gate
					if mended.err != nil && f.written.Len() == 0 {
						err := mended.err
						mended.err = nil
						return 0, err
					}
					return n, nil
				}
				s := newSink(f)
				g := &Gate{audit: &auditor{sink: s}}
				for i, wait := range []time.Duration{sinkTime, 0, 0} {
					began := time.Now()
					_, err := s.Write([]byte("{}\n"))
					require.ErrorIs(t, err, errBlocked)
					assert.Equal(t, wait, time.Since(began), "line %d", i)
				}
				lost, err := g.AuditHealth()
				assert.EqualValues(t, 3, lost)
				require.ErrorIs(t, err, errBlocked)
				close(gate)
				synctest.Wait()
				lost, _ = g.AuditHealth()
				assert.Equal(t, mended.lost, lost)
				_, err = s.Write([]byte(`{"after":1}` + "\n"))
				require.NoError(t, err)
				_, err = g.AuditHealth()
				require.NoError(t, err)
				assert.Contains(t, f.written.String(), fmt.Sprintf(`"lines":%d}`+"\n"+`{"after":1}`, mended.lost))
			})
		})
	}
}

// Lines that wait while the writer blocks do not wait for longer than it takes
// to know.
func TestLinesThatWaitForABlockedWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := newSink(&flaky{next: func(n int) (int, error) { <-gate; return n, nil }})
		began, refused := time.Now(), make(chan error, 10)
		for range cap(refused) {
			go func() { _, err := s.Write([]byte("{}\n")); refused <- err }()
		}
		for range cap(refused) {
			require.ErrorIs(t, <-refused, errBlocked)
		}
		assert.Equal(t, sinkTime, time.Since(began))
		close(gate)
	})
}

// A writer that panics loses its line, and nothing else.
func TestAWriterThatPanics(t *testing.T) {
	s := newSink(&flaky{next: func(int) (int, error) { panic("no") }})
	_, err := s.Write([]byte("{}\n"))
	assert.ErrorContains(t, err, "panicked: no")
}
