package chaoshttp_test

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// row is what one fault does to a call that the desk would answer.
type row struct {
	name  string
	fault chaos.Fault
	kind  string

	status  int                           // that the client gets; 0: none
	is      error                         // that the error of the call matches
	as      func(t *testing.T, err error) // what else there is to it
	cut     error                         // that reading the body ends with
	body    func(t *testing.T, g got)     // what there is to the body
	took    time.Duration                 // in virtual time
	outcome chaos.Outcome                 // of the event; empty: ok
	behind  func(t *testing.T, g got)     // what a client of a real server with this fault gets, where that differs
	unseen  bool                          // behind a server it is not delivered
	https   bool                          // only a call by TLS meets it
}

func catalogue() []row {
	reaches := func(t *testing.T, g got) { require.NoError(t, g.err); assert.Equal(t, document, g.body) }
	aborted := func(t *testing.T, g got) { assert.ErrorIs(t, g.err, io.EOF) }
	rows := []row{
		{name: "Refused", fault: chaoshttp.Refused(), kind: "http_refused", is: syscall.ECONNREFUSED, unseen: true, behind: reaches},
		{name: "Reset", fault: chaoshttp.Reset(), kind: "http_reset", is: syscall.ECONNRESET},
		{name: "HangUp", fault: chaoshttp.HangUp(), kind: "http_hang_up", is: io.EOF, behind: aborted},
		{name: "NoSuchHost", fault: chaoshttp.NoSuchHost(), kind: "dns_not_found", unseen: true, behind: reaches, as: func(t *testing.T, err error) {
			var dns *net.DNSError
			require.ErrorAs(t, err, &dns)
			assert.True(t, dns.IsNotFound)
			assert.NotEmpty(t, dns.Name)
		}},
		{name: "TLS", fault: chaoshttp.TLS(chaoshttp.TLSNotSpoken), kind: "tls_failure", is: http.ErrSchemeMismatch, https: true, unseen: true, behind: reaches},
		{name: "SlowHeaders", fault: chaoshttp.SlowHeaders(2 * time.Hour), kind: "slow_headers", status: 200, took: 2 * time.Hour, body: reaches},
		{name: "SlowBody", fault: chaoshttp.SlowBody(10, time.Hour), kind: "slow_body", status: 200, took: 5 * time.Hour, body: reaches},
		{name: "CutBody", fault: chaoshttp.CutBody(10), kind: "cut_body", status: 200, cut: io.ErrUnexpectedEOF, outcome: chaos.OutcomeInjected, body: func(t *testing.T, g got) {
			assert.Equal(t, document[:10], g.body)
			assert.EqualValues(t, len(document), g.resp.ContentLength, "the header tells the whole length")
		}},
		{name: "ShortBody", fault: chaoshttp.ShortBody(10), kind: "short_body", status: 200, body: func(t *testing.T, g got) {
			assert.Equal(t, document[:10], g.body)
			assert.EqualValues(t, 10, g.resp.ContentLength)
		}},
		{name: "HTMLPage", fault: chaoshttp.HTMLPage(), kind: "html_page", status: 200, body: func(t *testing.T, g got) {
			assert.True(t, strings.HasPrefix(g.body, "<html>"), g.body)
			assert.Equal(t, "application/json", g.resp.Header.Get("Content-Type"))
		}},
		{name: "ErrorInOK", fault: chaoshttp.ErrorInOK(chaoshttp.Anthropic, chaoshttp.KindOverloaded), kind: "error_in_ok", status: 200, body: func(t *testing.T, g got) {
			assert.Contains(t, g.body, `"overloaded_error"`)
		}},
		{name: "WrongEncoding", fault: chaoshttp.WrongEncoding(), kind: "wrong_encoding", status: 200, cut: gzip.ErrHeader, outcome: chaos.OutcomeInjected,
			body: func(t *testing.T, g got) { assert.True(t, g.resp.Uncompressed) }},
	}
	for _, code := range []int{400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529} {
		rows = append(rows, row{name: "Status " + http.StatusText(code), fault: chaoshttp.Status(code, nil), kind: "http_status",
			status: code, outcome: chaos.OutcomeInjected, body: func(t *testing.T, g got) {
				assert.Equal(t, http.StatusText(code)+"\n", g.body)
				assert.EqualValues(t, len(g.body), g.resp.ContentLength)
				assert.NotEmpty(t, g.resp.Header.Get("Date"))
			}})
	}
	return append(rows, row{name: "APIError", fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, nil), kind: "api_error",
		status: 429, outcome: chaos.OutcomeInjected, body: func(t *testing.T, g got) {
			assert.Contains(t, g.body, `"code":"rate_limit_exceeded"`)
			assert.NotEmpty(t, g.resp.Header.Get("X-Request-Id"))
		}})
}

// check looks at what the client got.
func (r row) check(t *testing.T, g got) {
	if r.status == 0 {
		require.Error(t, g.err)
		if r.is != nil {
			assert.ErrorIs(t, g.err, r.is)
		}
		if r.as != nil {
			r.as(t, g.err)
		}
		return
	}
	require.NoError(t, g.err)
	assert.Equal(t, r.status, g.resp.StatusCode)
	if r.cut != nil {
		assert.ErrorIs(t, g.cut, r.cut)
	} else {
		assert.NoError(t, g.cut)
	}
	if r.body != nil {
		r.body(t, g)
	}
}

// checkEvent looks at what the injector says of it.
func (r row) checkEvent(t *testing.T, e chaos.Event) {
	want := r.outcome
	if r.status == 0 {
		want = chaos.OutcomeInjected
	} else if want == "" {
		want = chaos.OutcomeOK
	}
	assert.Equal(t, want, e.Outcome, "%+v", e)
	assert.True(t, e.Delivered)
	assert.Equal(t, r.kind, e.Fault)
	if want == chaos.OutcomeInjected {
		assert.NotEmpty(t, e.Err)
		for _, word := range []string{"chaos", "inject", "shakedown"} {
			assert.NotContains(t, strings.ToLower(e.Err), word, "nothing tells of a test")
		}
	}
}

// A client in virtual time: what it gets, and how long that took.
func TestFaultsInProcess(t *testing.T) {
	for _, r := range catalogue() {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := injectorOf(t, chaos.Rule{Fault: r.fault})
				client := inProcess(t, desk)
				start := time.Now()
				g := ask(chaos.NewContext(t.Context(), in), t, client, "https://api.example.com/v1/orders", `{}`)
				assert.Equal(t, r.took, time.Since(start))
				r.check(t, g)
				r.checkEvent(t, onlyEvent(t, in))
				if g.err != nil {
					assert.ErrorIs(t, g.err, chaos.ErrInjected)
				}
			})
		})
	}
}

// The same over sockets, where nothing has to wait for hours.
func TestFaultsOverSockets(t *testing.T) {
	for _, r := range catalogue() {
		if r.took > 0 || r.https {
			continue // in real time, and without TLS
		}
		t.Run(r.name, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Fault: r.fault})
			client, url := overSockets(t, desk)
			g := ask(chaos.NewContext(t.Context(), in), t, client, url+"/v1/orders", `{}`)
			r.check(t, g)
			r.checkEvent(t, onlyEvent(t, in))
		})
	}
}

// A client without any chaos, and a server that has the faults.
func TestFaultsBehindAServer(t *testing.T) {
	for _, r := range catalogue() {
		if r.took > 0 && !r.unseen {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Fault: r.fault})
			client, server := behind(t, desk, in)
			g := ask(context.Background(), t, client, server.URL+"/v1/orders", `{}`)
			server.Close()
			if r.behind != nil {
				r.behind(t, g)
			} else {
				r.check(t, g)
			}
			assert.NotErrorIs(t, g.err, chaos.ErrInjected, "it came over the wire")
			e := onlyEvent(t, in)
			assert.Equal(t, !r.unseen, e.Delivered, "%+v", e)
			if r.unseen {
				assert.NotEmpty(t, e.Note)
			}
		})
	}
}
