package planjson

import (
	"net/http"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

type (
	waiting struct {
		Wait time.Duration `json:"wait" doc:"time that it takes"`
	}
	tlsFailure struct {
		Failure string `json:"failure" bounds:"enum=unknown_authority|expired|wrong_host|handshake_failure|not_spoken"`
	}
	answerOptions struct {
		RetryAfter time.Duration `json:"retryAfter,omitempty" doc:"sent in the header of that name"`
		RetryDate  bool          `json:"retryDate,omitempty" doc:"it is sent as a date, not as seconds"`
		Header     http.Header   `json:"header,omitempty" doc:"sent besides"`
		Body       string        `json:"body,omitempty" doc:"sent as it is; left out: the usual one"`
	}
	status struct {
		Code int `json:"code" bounds:"min=400,max=599" doc:"the status"`
		answerOptions
	}
	apiError struct {
		API   string `json:"api" bounds:"enum=openai|anthropic"`
		Error string `json:"error" bounds:"enum=invalid_request|context_length|content_filter|authentication|quota|permission|not_found|too_large|rate_limit|server|timeout|overloaded"`
		answerOptions
	}
	errorInOK struct {
		API   string `json:"api,omitempty" bounds:"enum=|openai|anthropic" doc:"whose error; left out: a plain one"`
		Error string `json:"error,omitempty" bounds:"enum=|invalid_request|context_length|content_filter|authentication|quota|permission|not_found|too_large|rate_limit|server|timeout|overloaded"`
	}
	bodyBytes struct {
		Bytes int64 `json:"bytes" bounds:"min=0" doc:"bytes of the body that come"`
	}
	bodySize struct {
		Bytes int64 `json:"bytes" bounds:"min=1,max=1099511627776" doc:"length that the body is brought to"`
	}
	slowBody struct {
		Chunk int           `json:"chunk" bounds:"min=1" doc:"bytes that come at a time"`
		Every time.Duration `json:"every" doc:"time before each of them"`
	}
)

// plain is a row of a fault without parameters.
func plain(name, code, doc string, build func() chaos.Fault) *catalog.Row {
	return faultRow(name, code+"()", doc, `{}`, func(none) chaos.Fault { return build() })
}

// httpKinds are the faults of HTTP, on either side; see package
// chaos/chaoshttp.
func httpKinds() []*catalog.Row {
	return []*catalog.Row{
		plain("http_refused", "chaoshttp.Refused", "Nothing listens at the server's port.", chaoshttp.Refused),
		plain("http_reset", "chaoshttp.Reset", "The connection is reset before the answer.", chaoshttp.Reset),
		plain("http_hang_up", "chaoshttp.HangUp", "The connection is closed in good order before the answer.", chaoshttp.HangUp),
		plain("dns_not_found", "chaoshttp.NoSuchHost", "The host's name cannot be resolved.", chaoshttp.NoSuchHost),
		faultRow("dns_timeout", "chaoshttp.DNSTimeout(wait)", "The resolver does not answer.", `{"wait":"5s"}`,
			func(p waiting) chaos.Fault { return chaoshttp.DNSTimeout(p.Wait) }),
		faultRow("tls_failure", "chaoshttp.TLS(how)", "The handshake fails.", `{"failure":"expired"}`,
			func(p tlsFailure) chaos.Fault { return chaoshttp.TLS(chaoshttp.TLSFailure(p.Failure)) }),
		faultRow("http_status", "chaoshttp.Status(code, o)", "The server answers with a status.", `{"code":503,"retryAfter":"10s"}`,
			func(p status) chaos.Fault { return chaoshttp.Status(p.Code, p.options()) }),
		faultRow("api_error", "chaoshttp.APIError(api, kind, o)", "The provider answers with an error of its own.", `{"api":"openai","error":"rate_limit"}`,
			func(p apiError) chaos.Fault {
				return chaoshttp.APIError(chaoshttp.API(p.API), chaoshttp.ErrorKind(p.Error), p.options())
			}),
		faultRow("slow_headers", "chaoshttp.SlowHeaders(wait)", "The work is done, and the answer is late.", `{"wait":"5s"}`,
			func(p waiting) chaos.Fault { return chaoshttp.SlowHeaders(p.Wait) }),
		faultRow("slow_body", "chaoshttp.SlowBody(chunk, every)", "The body comes in pieces.", `{"chunk":16,"every":"1s"}`,
			func(p slowBody) chaos.Fault { return chaoshttp.SlowBody(p.Chunk, p.Every) }),
		faultRow("cut_body", "chaoshttp.CutBody(n)", "The connection breaks within the body.", `{"bytes":20}`,
			func(p bodyBytes) chaos.Fault { return chaoshttp.CutBody(p.Bytes) }),
		faultRow("short_body", "chaoshttp.ShortBody(n)", "The end of the body is missing, without a sign of it.", `{"bytes":20}`,
			func(p bodyBytes) chaos.Fault { return chaoshttp.ShortBody(p.Bytes) }),
		faultRow("oversized_body", "chaoshttp.Oversized(n)", "The body is very long.", `{"bytes":65536}`,
			func(p bodySize) chaos.Fault { return chaoshttp.Oversized(p.Bytes) }),
		plain("wrong_encoding", "chaoshttp.WrongEncoding", "The header says that the body is compressed; it is not.", chaoshttp.WrongEncoding),
		plain("wrong_charset", "chaoshttp.WrongCharset", "The body is in another character set than its header says.", chaoshttp.WrongCharset),
		plain("malformed_json", "chaoshttp.MalformedJSON", "One character of the body is wrong, so it is not JSON.", chaoshttp.MalformedJSON),
		plain("html_page", "chaoshttp.HTMLPage", "The body is the error page of a gateway, with the content type of JSON.", chaoshttp.HTMLPage),
		faultRow("on_body", "chaoshttp.OnBody(f)", "The JSON of the body is changed by a fault that changes results.",
			`{"fault":{"kind":"wrong_number","params":{"within":0.1}}}`, func(p inner) chaos.Fault { return chaoshttp.OnBody(p.Fault) }),
		faultRow("error_in_ok", "chaoshttp.ErrorInOK(api, kind)", "The body is an error, under status 200.", `{"api":"anthropic","error":"overloaded"}`,
			func(p errorInOK) chaos.Fault {
				return chaoshttp.ErrorInOK(chaoshttp.API(p.API), chaoshttp.ErrorKind(p.Error))
			}),
	}
}

func (p answerOptions) options() *chaoshttp.StatusOptions {
	return &chaoshttp.StatusOptions{RetryAfter: p.RetryAfter, RetryDate: p.RetryDate, Header: p.Header, Body: p.Body}
}
