package chaoshttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// answering is a handler of one body; flushed, so that its length is not known.
func answering(kind, body string, flushed bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		if flushed {
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, body)
	}
}

var errDown = errors.New("connection closed")

// breaking is a change that fails.
type breaking struct{}

func (breaking) Phase() chaos.Phase { return chaos.PhaseChange }
func (breaking) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, errDown
}

// What faults do to bodies that are not the desk's, and that they are not
// delivered where they change nothing.
func TestBodies(t *testing.T) {
	const jsonKind, plain = "application/json", "text/plain"
	for _, tt := range []struct {
		name    string
		fault   chaos.Fault
		kind    string
		body    string
		flushed bool
		want    string
		cut     error
		length  int64
		is      bool // delivered
	}{
		{"cut, of unknown length", chaoshttp.CutBody(3), plain, "abcdef", true, "abc", io.ErrUnexpectedEOF, -1, true},
		{"cut at its end", chaoshttp.CutBody(6), plain, "abcdef", false, "abcdef", nil, 6, false},
		{"cut at its end, of unknown length", chaoshttp.CutBody(6), plain, "abcdef", true, "abcdef", nil, -1, false},
		{"cut at once", chaoshttp.CutBody(0), plain, "abcdef", false, "", io.ErrUnexpectedEOF, 6, true},
		{"short, of unknown length", chaoshttp.ShortBody(3), plain, "abcdef", true, "abc", nil, -1, true},
		{"short at its end", chaoshttp.ShortBody(9), plain, "abcdef", false, "abcdef", nil, 6, false},
		{"on the body of a stream", onBody(fault.Replace(json.RawMessage(`[]`))), "application/x-ndjson", "{}", true, "{}", nil, -1, false},
		{"on the body", onBody(fault.Replace(json.RawMessage(`{"id":8}`))), jsonKind, `{"id":7}`, false, `{"id":8}`, nil, 8, true},
		{"on the body, a Go value", onBody(fault.Replace(map[string]int{"id": 8})), jsonKind, `{"id":7}`, false, `{"id":8}`, nil, 8, true},
		{"on the body, the same", onBody(fault.Replace(json.RawMessage(`{"id":7}`))), jsonKind, `{"id":7}`, false, `{"id":7}`, nil, 8, false},
		{"on the body, not JSON", onBody(fault.Replace(json.RawMessage(`{"id":8}`))), plain, `id 7`, false, `id 7`, nil, 4, false},
		{"on the body, a Mutate", onBody(fault.Mutate("next", func(v map[string]int) map[string]int { return map[string]int{"id": v["id"] + 1} })),
			jsonKind, `{"id":7}`, false, `{"id":8}`, nil, 8, true},
		{"on the body, an error", onBody(breaking{}), jsonKind, `{"id":7}`, false, ``, errDown, 8, true},
		{"page for a text", chaoshttp.ErrorInOK("", ""), plain, "abc", true, `{"error":{"code":500,"message":"Internal server error"}}`, nil, 56, true},
		{"wrong encoding of nothing", chaoshttp.WrongEncoding(), plain, "", false, "", nil, 0, false},
		{"slow, of nothing", chaoshttp.SlowBody(1, time.Hour), plain, "", false, "", nil, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := injectorOf(t, chaos.Rule{Fault: tt.fault, Limit: 1})
				g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, answering(tt.kind, tt.body, tt.flushed)), "https://example.com/", "")
				require.NoError(t, g.err)
				assert.Equal(t, tt.want, g.body)
				assert.Equal(t, tt.cut == nil, g.cut == nil, "%v", g.cut)
				if tt.cut != nil {
					assert.ErrorIs(t, g.cut, tt.cut)
					assert.ErrorIs(t, g.cut, chaos.ErrInjected)
				}
				assert.Equal(t, tt.length, g.resp.ContentLength)
				e := onlyEvent(t, in)
				assert.Equal(t, tt.is, e.Delivered, "%+v", e)
				assert.Equal(t, tt.is, len(in.Undelivered()) == 0)
				assert.Equal(t, tt.is, len(e.Changes) > 0 || e.Outcome == chaos.OutcomeInjected)
			})
		})
	}
}

// What the caller did not read was not delivered, and uses up no limit.
func TestWhatIsNotReadIsNotDelivered(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"CutBody": chaoshttp.CutBody(10), "SlowBody": chaoshttp.SlowBody(5, time.Hour),
		"OnBody of the same length": onBody(fault.Replace(json.RawMessage(strings.Replace(document, "7", "8", 1)))),
	} {
		in := injectorOf(t, chaos.Rule{Fault: f, Limit: 1})
		req := chatRequest(t, chaos.NewContext(t.Context(), in))
		resp, err := inProcess(t, desk).Do(req)
		require.NoError(t, err, name)
		assert.EqualValues(t, len(document), resp.ContentLength, name)
		assert.Empty(t, in.Events(), "%s: the call is under way until its body ends", name)
		require.NoError(t, resp.Body.Close(), name)
		assert.False(t, onlyEvent(t, in).Delivered, name)
		assert.Len(t, in.Undelivered(), 1, name)
		require.NoError(t, resp.Body.Close(), "closed again")
		assert.Len(t, in.Events(), 1, name)
	}
}

// A status, a length or a type that the client sees changed is a change as it
// stands: the body need not be read.
func TestAChangedHeaderIsDelivered(t *testing.T) {
	for name, tt := range map[string]struct {
		fault chaos.Fault
		paths []string
	}{
		"ShortBody":     {chaoshttp.ShortBody(10), []string{"/Content-Length"}},
		"HTMLPage":      {chaoshttp.HTMLPage(), []string{"/status", "/Content-Length"}},
		"WrongEncoding": {chaoshttp.WrongEncoding(), []string{"/Content-Length"}},
		"OnBody":        {onBody(fault.Replace(json.RawMessage(`{}`))), []string{"/Content-Length"}},
	} {
		in := injectorOf(t, chaos.Rule{Fault: tt.fault, Limit: 1})
		resp, err := inProcess(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, document)
		}).Do(chatRequest(t, chaos.NewContext(t.Context(), in)))
		require.NoError(t, err, name)
		require.NoError(t, resp.Body.Close(), name)
		e := onlyEvent(t, in)
		assert.True(t, e.Delivered, name)
		assert.Empty(t, in.Undelivered(), name)
		var paths []string
		for _, ch := range e.Changes {
			paths = append(paths, ch.Path)
		}
		assert.Equal(t, tt.paths, paths, name)
	}
}

// Every wait ends with the caller's context, with the body, and when the
// injector is disarmed; then the call goes through.
func TestWaitsEnd(t *testing.T) {
	waits := map[string]chaos.Fault{
		"SlowHeaders": chaoshttp.SlowHeaders(24 * time.Hour),
		"SlowBody":    chaoshttp.SlowBody(10, 24*time.Hour),
	}
	for name, f := range waits {
		t.Run(name+", cancelled", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := injectorOf(t, chaos.Rule{Fault: f})
				ctx, cancel := context.WithTimeout(chaos.NewContext(t.Context(), in), time.Hour)
				defer cancel()
				start := time.Now()
				g := ask(ctx, t, inProcess(t, desk), "https://example.com/", "")
				assert.Equal(t, time.Hour, time.Since(start))
				assert.ErrorIs(t, errors.Join(g.err, g.cut), context.DeadlineExceeded)
				assert.True(t, onlyEvent(t, in).Delivered, "the caller did wait")
			})
		})
		t.Run(name+", disarmed", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := injectorOf(t, chaos.Rule{Fault: f})
				time.AfterFunc(time.Hour, in.Disarm)
				start := time.Now()
				g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), "https://example.com/", "")
				assert.Equal(t, time.Hour, time.Since(start))
				assert.NoError(t, g.err)
				assert.NoError(t, g.cut)
				assert.Equal(t, document, g.body)
				assert.Equal(t, time.Hour, onlyEvent(t, in).Spent)
			})
		})
	}
	t.Run("closed while it is read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Fault: waits["SlowBody"]})
			resp, err := inProcess(t, desk).Do(chatRequest(t, chaos.NewContext(t.Context(), in)))
			require.NoError(t, err)
			start := time.Now()
			time.AfterFunc(time.Hour, func() { resp.Body.Close() })
			_, err = io.ReadAll(resp.Body)
			assert.Error(t, err)
			assert.Equal(t, time.Hour, time.Since(start))
			synctest.Wait()
			assert.Len(t, in.Events(), 1)
		})
	})
}

// A stream is spoiled piece by piece, as it comes.
func TestAStreamIsSpoiledAsItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injectorOf(t, chaos.Rule{Fault: chaoshttp.SlowBody(100, time.Minute)}, chaos.Rule{Fault: chaoshttp.CutBody(12)})
		client := inProcess(t, func(w http.ResponseWriter, r *http.Request) {
			for i := range 5 {
				fmt.Fprintf(w, "line%d\n", i)
				w.(http.Flusher).Flush()
				time.Sleep(time.Hour)
			}
		})
		start := time.Now()
		g := ask(chaos.NewContext(t.Context(), in), t, client, "https://example.com/", "")
		assert.Equal(t, "line0\nline1\n", g.body)
		assert.ErrorIs(t, g.cut, io.ErrUnexpectedEOF)
		assert.Equal(t, 2*time.Hour+time.Minute, time.Since(start), "the third line showed that there is more, a minute late")
		e := onlyEvent(t, in)
		assert.Equal(t, "cut_body", e.Fault)
		assert.Len(t, e.Also, 1)
		assert.Equal(t, chaos.OutcomeInjected, e.Outcome)
		assert.Equal(t, time.Since(start), e.End, "the call ended with its body")
	})
}

func TestAClientThatAsksForGzipItself(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Fault: chaoshttp.WrongEncoding()})
	req := chatRequest(t, chaos.NewContext(t.Context(), in))
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := inProcess(t, desk).Do(req)
	require.NoError(t, err)
	doc, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "gzip", resp.Header.Get("Content-Encoding"))
	assert.Equal(t, document, string(doc), "the body is plain: decoding it is the client's failure")
	require.NoError(t, resp.Body.Close())
}
