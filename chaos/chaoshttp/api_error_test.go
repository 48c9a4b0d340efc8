package chaoshttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// The errors of both providers, as a client reads them.
func TestProviderErrors(t *testing.T) {
	for _, tt := range []struct {
		api        chaoshttp.API
		kind       chaoshttp.ErrorKind
		status     int
		typ        any // nil: null
		code       any // of OpenAI
		says       string
		persistent bool
	}{
		{chaoshttp.OpenAI, chaoshttp.KindInvalidRequest, 400, "invalid_request_error", "missing_required_parameter", "Missing required parameter", true},
		{chaoshttp.OpenAI, chaoshttp.KindContextLength, 400, "invalid_request_error", "context_length_exceeded", "maximum context length", true},
		{chaoshttp.OpenAI, chaoshttp.KindContentFilter, 400, nil, "content_filter", "content management policy", true},
		{chaoshttp.OpenAI, chaoshttp.KindAuthentication, 401, "invalid_request_error", "invalid_api_key", "Incorrect API key", true},
		{chaoshttp.OpenAI, chaoshttp.KindPermission, 403, "request_forbidden", "unsupported_country_region_territory", "not supported", true},
		{chaoshttp.OpenAI, chaoshttp.KindNotFound, 404, "invalid_request_error", "model_not_found", "The model `m-1` does not exist", true},
		{chaoshttp.OpenAI, chaoshttp.KindRateLimit, 429, "requests", "rate_limit_exceeded", "Rate limit reached for m-1", false},
		{chaoshttp.OpenAI, chaoshttp.KindQuota, 429, "insufficient_quota", "insufficient_quota", "exceeded your current quota", true},
		{chaoshttp.OpenAI, chaoshttp.KindServer, 500, "server_error", nil, "had an error", false},
		{chaoshttp.OpenAI, chaoshttp.KindOverloaded, 503, "server_error", nil, "overloaded", false},
		{chaoshttp.Anthropic, chaoshttp.KindInvalidRequest, 400, "invalid_request_error", nil, "messages:", true},
		{chaoshttp.Anthropic, chaoshttp.KindContextLength, 400, "invalid_request_error", nil, "prompt is too long", true},
		{chaoshttp.Anthropic, chaoshttp.KindContentFilter, 400, "invalid_request_error", nil, "content filtering policy", true},
		{chaoshttp.Anthropic, chaoshttp.KindAuthentication, 401, "authentication_error", nil, "invalid x-api-key", true},
		{chaoshttp.Anthropic, chaoshttp.KindQuota, 402, "billing_error", nil, "Plans & Billing", true},
		{chaoshttp.Anthropic, chaoshttp.KindPermission, 403, "permission_error", nil, "permission", true},
		{chaoshttp.Anthropic, chaoshttp.KindNotFound, 404, "not_found_error", nil, "model: m-1", true},
		{chaoshttp.Anthropic, chaoshttp.KindTooLarge, 413, "request_too_large", nil, "maximum size", true},
		{chaoshttp.Anthropic, chaoshttp.KindRateLimit, 429, "rate_limit_error", nil, "rate limit", false},
		{chaoshttp.Anthropic, chaoshttp.KindServer, 500, "api_error", nil, "Internal server error", false},
		{chaoshttp.Anthropic, chaoshttp.KindTimeout, 504, "timeout_error", nil, "timed out", false},
		{chaoshttp.Anthropic, chaoshttp.KindOverloaded, 529, "overloaded_error", nil, "Overloaded", false},
	} {
		t.Run(string(tt.api)+" "+string(tt.kind), func(t *testing.T) {
			f := chaoshttp.APIError(tt.api, tt.kind, nil)
			in := injectorOf(t, chaos.Rule{Fault: f})
			ctx := chaos.NewContext(t.Context(), in)
			g := ask(ctx, t, inProcess(t, desk), "https://example.com/v1/chat/completions", `{"model":"m-1"}`)
			require.NoError(t, g.err)
			assert.Equal(t, tt.status, g.resp.StatusCode)
			assert.Equal(t, "application/json", g.resp.Header.Get("Content-Type"))
			var doc struct {
				Type      string         `json:"type"`
				Error     map[string]any `json:"error"`
				RequestID string         `json:"request_id"`
			}
			require.NoError(t, json.Unmarshal([]byte(g.body), &doc))
			assert.Equal(t, tt.typ, doc.Error["type"])
			assert.Contains(t, doc.Error["message"], tt.says)
			assert.NotContains(t, g.body, `\u0026`, "providers write & as it is")
			if tt.api == chaoshttp.Anthropic {
				assert.Equal(t, "error", doc.Type)
				assert.Equal(t, doc.RequestID, g.resp.Header.Get("Request-Id"))
				assert.Equal(t, strconv.FormatBool(!tt.persistent), g.resp.Header.Get("X-Should-Retry"))
				assert.NotContains(t, doc.Error, "code")
			} else {
				assert.Equal(t, tt.code, doc.Error["code"])
				assert.Contains(t, doc.Error, "param", "present, if null")
				assert.Regexp(t, `^req_[0-9a-f]{24}$`, g.resp.Header.Get("X-Request-Id"))
			}
			d := f.(chaos.Described).Describe()
			assert.Equal(t, tt.persistent, d.Persistence == chaos.Permanent)
			assert.Equal(t, chaos.LayerLLM, d.Layer)
			assert.Contains(t, onlyEvent(t, in).Err, tt.says, "the event tells what it was")

			// The same fault at a point that is not HTTP is an error of that status.
			_, err := chaos.Wrap("complete", func(context.Context, string) (string, error) { return "", nil })(ctx, "q")
			var status *chaoshttp.HTTPError
			require.ErrorAs(t, err, &status)
			assert.Equal(t, tt.status, status.StatusCode)
			assert.ErrorIs(t, err, chaos.ErrInjected)
			assert.Equal(t, tt.status == 504, (&chaos.InjectedError{Err: status}).Timeout())
		})
	}
}

// The errors of Google, Ollama and Amazon, by the path of the request and by name.
func TestErrorsOfTheProviderOfTheRequest(t *testing.T) {
	const gemini, ollama = "https://example.com/v1beta/models/m-1:generateContent", "https://example.com/api/chat"
	const bedrock = "https://example.com/model/m-1/converse"
	for _, tt := range []struct {
		api    chaoshttp.API
		url    string
		kind   chaoshttp.ErrorKind
		status int
		typ    string // Gemini's status, Bedrock's header
		says   string
	}{
		{chaoshttp.Gemini, gemini, chaoshttp.KindInvalidRequest, 400, "INVALID_ARGUMENT", "contents is not specified"},
		{chaoshttp.Gemini, gemini, chaoshttp.KindContextLength, 400, "INVALID_ARGUMENT", "input token count"},
		{chaoshttp.Gemini, gemini, chaoshttp.KindAuthentication, 400, "INVALID_ARGUMENT", "API key not valid"},
		{chaoshttp.Gemini, gemini, chaoshttp.KindQuota, 429, "RESOURCE_EXHAUSTED", "current quota"},
		{chaoshttp.Gemini, gemini, chaoshttp.KindPermission, 403, "PERMISSION_DENIED", "permission"},
		{chaoshttp.Gemini, gemini, chaoshttp.KindNotFound, 404, "NOT_FOUND", "models/m-1 is not found"},
		{chaoshttp.Gemini, gemini, chaoshttp.KindTooLarge, 400, "INVALID_ARGUMENT", "payload size"},
		{chaoshttp.Gemini, gemini, chaoshttp.KindRateLimit, 429, "RESOURCE_EXHAUSTED", "model: m-1\nPlease retry in 8s."},
		{chaoshttp.Gemini, gemini, chaoshttp.KindServer, 500, "INTERNAL", "internal error"},
		{chaoshttp.Gemini, gemini, chaoshttp.KindTimeout, 504, "DEADLINE_EXCEEDED", "Deadline expired"},
		{chaoshttp.Gemini, gemini, chaoshttp.KindOverloaded, 503, "UNAVAILABLE", "overloaded"},
		{chaoshttp.Ollama, ollama, chaoshttp.KindInvalidRequest, 400, "", "required"},
		{chaoshttp.Ollama, ollama, chaoshttp.KindContextLength, 400, "", "context length"},
		{chaoshttp.Ollama, ollama, chaoshttp.KindAuthentication, 401, "", "unauthorized"},
		{chaoshttp.Ollama, ollama, chaoshttp.KindQuota, 429, "", "usage limit"},
		{chaoshttp.Ollama, ollama, chaoshttp.KindPermission, 403, "", "subscription"},
		{chaoshttp.Ollama, ollama, chaoshttp.KindNotFound, 404, "", "model 'm-1' not found"},
		{chaoshttp.Ollama, ollama, chaoshttp.KindRateLimit, 429, "", "concurrent"},
		{chaoshttp.Ollama, ollama, chaoshttp.KindServer, 500, "", "runner process"},
		{chaoshttp.Ollama, ollama, chaoshttp.KindOverloaded, 503, "", "server busy"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindInvalidRequest, 400, "ValidationException", "validation error"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindContextLength, 400, "ValidationException", "too long"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindAuthentication, 403, "UnrecognizedClientException", "security token"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindQuota, 400, "ServiceQuotaExceededException", "quota"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindPermission, 403, "AccessDeniedException", "access"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindNotFound, 404, "ResourceNotFoundException", "Could not resolve"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindRateLimit, 429, "ThrottlingException", "Too many requests"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindServer, 500, "InternalServerException", "unexpected error"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindTimeout, 408, "ModelTimeoutException", "timed out"},
		{chaoshttp.Bedrock, bedrock, chaoshttp.KindOverloaded, 503, "ServiceUnavailableException", "unable to process"},
	} {
		for _, api := range []chaoshttp.API{tt.api, ""} {
			in := injectorOf(t, chaos.Rule{Fault: chaoshttp.APIError(api, tt.kind, &chaoshttp.StatusOptions{RetryAfter: 7500 * time.Millisecond})})
			g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), tt.url, `{"model":"m-1"}`)
			require.NoError(t, g.err)
			assert.Equal(t, tt.status, g.resp.StatusCode, "%s %s", tt.api, tt.kind)
			assert.Equal(t, "8", g.resp.Header.Get("Retry-After"))
			var doc struct {
				Error   json.RawMessage
				Message string
			}
			require.NoError(t, json.Unmarshal([]byte(g.body), &doc))
			var of struct {
				Code            int
				Message, Status string
				Details         []map[string]any
			}
			switch tt.api {
			case chaoshttp.Gemini:
				require.NoError(t, json.Unmarshal(doc.Error, &of))
				assert.Equal(t, tt.status, of.Code)
				assert.Equal(t, tt.typ, of.Status)
				if tt.status == 429 {
					assert.Equal(t, "type.googleapis.com/google.rpc.QuotaFailure", of.Details[0]["@type"])
					assert.Equal(t, map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "8s"}, of.Details[1])
				}
			case chaoshttp.Ollama:
				require.NoError(t, json.Unmarshal(doc.Error, &of.Message))
			default:
				assert.Equal(t, tt.typ, g.resp.Header.Get("X-Amzn-ErrorType"))
				assert.NotEmpty(t, g.resp.Header.Get("X-Amzn-RequestId"))
				of.Message = doc.Message
			}
			assert.Contains(t, of.Message, tt.says)
			e := onlyEvent(t, in)
			assert.True(t, e.Delivered)
			assert.Empty(t, e.Note)
			assert.Equal(t, chaos.LayerLLM, e.Layer)
		}
	}
}

// Another provider's error than the path's is named, and one that cannot be made is not injected.
func TestWhoseErrorItIs(t *testing.T) {
	const stream = "data: {\"n\":0}\n\ndata: {\"n\":1}\n\n"
	for _, tt := range []struct {
		fault     chaos.Fault
		url       string
		delivered bool
		note      string
	}{
		{chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindServer, nil), "/api/chat", true, "the error is one of openai, and the path one of ollama"},
		{chaoshttp.ErrorInOK(chaoshttp.Ollama, chaoshttp.KindServer), "/v1/messages", true, "the error is one of ollama, and the path one of anthropic"},
		{chaoshttp.ErrorEvent(chaoshttp.Anthropic, chaoshttp.KindServer, 1), "/v1/responses", true, "the error is one of anthropic, and the path one of openai"},
		{chaoshttp.ErrorEvent("", chaoshttp.KindServer, 1), "/v1/messages", true, ""},
		{chaoshttp.ErrorInOK("", chaoshttp.KindServer), "/v1/messages", true, ""},
		{chaoshttp.APIError("", chaoshttp.KindTimeout, nil), "/v1/responses", false, "openai has no error of the kind timeout"},
		{chaoshttp.ErrorEvent("", chaoshttp.KindContentFilter, 0), "/api/generate", false, "ollama has no error of the kind content_filter"},
		{chaoshttp.APIError("", chaoshttp.KindServer, nil), "/orders", false, "the provider of the request is not known"},
		{chaoshttp.ErrorInOK("", chaoshttp.KindServer), "/orders", false, "the provider of the request is not known"},
		{chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindServer, nil), "/orders", true, ""},
	} {
		in := injectorOf(t, chaos.Rule{Fault: tt.fault})
		client := inProcess(t, answering("text/event-stream", stream, false))
		g := ask(chaos.NewContext(t.Context(), in), t, client, "https://example.com"+tt.url, `{"model":"m-1"}`)
		require.NoError(t, g.err)
		e := onlyEvent(t, in)
		assert.Equal(t, tt.delivered, e.Delivered, "%+v", e)
		assert.Equal(t, tt.delivered, g.body != stream || g.resp.StatusCode != 200)
		assert.Contains(t, e.Note, tt.note)
		assert.Equal(t, tt.note == "", e.Note == "")
	}
	in := injectorOf(t, chaos.Rule{Fault: chaoshttp.APIError("", chaoshttp.KindServer, nil)})
	_, err := chaos.Wrap("complete", func(context.Context, string) (string, error) { return "", nil })(chaos.NewContext(t.Context(), in), "q")
	require.NoError(t, err, "a function has no provider")
	assert.False(t, onlyEvent(t, in).Delivered)
}

// The path of a call of Bedrock's has the model, and a stream in Amazon's framing is not edited.
func TestBedrock(t *testing.T) {
	const url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-v2%3A1/converse-stream"
	for name, f := range map[string]chaos.Fault{
		"completion": chaoshttp.CutCompletion(3), "stream": chaoshttp.CutStream(1), "terminator": chaoshttp.DropTerminator(),
	} {
		in := injectorOf(t, chaos.Rule{Target: "POST *#anthropic.claude-v2:1", Fault: f})
		client := inProcess(t, answering("application/vnd.amazon.eventstream", "\x00\x00\x00\x10", false))
		g := ask(chaos.NewContext(t.Context(), in), t, client, url, `{"messages":[]}`)
		require.NoError(t, g.err)
		assert.Equal(t, "\x00\x00\x00\x10", g.body)
		e := onlyEvent(t, in)
		assert.Equal(t, chaos.LayerLLM, e.Layer)
		assert.False(t, e.Delivered, name)
		assert.Contains(t, e.Note, "application/vnd.amazon.eventstream", name)
	}
}

func TestRequestIdentifiersAreDrawn(t *testing.T) {
	ids := map[string]int{}
	for range 2 {
		in := injectorOf(t, chaos.Rule{Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindServer, nil)})
		for range 3 {
			g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, `{}`)
			ids[g.resp.Header.Get("X-Request-Id")]++
		}
	}
	assert.Len(t, ids, 3, "each call has its own, the same in every run")
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    chaoshttp.StatusOptions
		want string
	}{
		{"none", chaoshttp.StatusOptions{}, ""},
		{"seconds", chaoshttp.StatusOptions{RetryAfter: 30 * time.Second}, "30"},
		{"rounded up", chaoshttp.StatusOptions{RetryAfter: 1500 * time.Millisecond}, "2"},
		{"date", chaoshttp.StatusOptions{RetryAfter: time.Hour, RetryDate: true}, "Sat, 01 Jan 2000 01:00:00 GMT"},
		{"date, rounded up", chaoshttp.StatusOptions{RetryAfter: time.Millisecond, RetryDate: true}, "Sat, 01 Jan 2000 00:00:01 GMT"},
		{"own header", chaoshttp.StatusOptions{Header: http.Header{"retry-after": {"7"}}}, "7"},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Fault: chaoshttp.Status(429, &tt.o)})
			g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, `{}`)
			require.NoError(t, g.err)
			assert.Equal(t, tt.want, g.resp.Header.Get("Retry-After"), tt.name)
			assert.Equal(t, "Sat, 01 Jan 2000 00:00:00 GMT", g.resp.Header.Get("Date"))
		})
	}
}

// A client that reads the message waits as long as one that reads the header.
func TestTheMessageNamesTheTimeToWait(t *testing.T) {
	for _, tt := range []struct {
		after        time.Duration
		header, says string
	}{
		{0, "", "Please try again in 120ms."},
		{20 * time.Second, "20", "Please try again in 20s."},
		{1500 * time.Millisecond, "2", "Please try again in 2s."},
		{6 * time.Minute, "360", "Please try again in 6m0s."},
		{math.MaxInt64, "9223372036", "Please try again in 2562047h47m16.854775807s."},
	} {
		in := injectorOf(t, chaos.Rule{Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, &chaoshttp.StatusOptions{RetryAfter: tt.after})})
		g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, `{"model":"m-1"}`)
		require.NoError(t, g.err)
		assert.Equal(t, tt.header, g.resp.Header.Get("Retry-After"))
		assert.Contains(t, g.body, tt.says)
		assert.Contains(t, g.body, "Rate limit reached for m-1 in")
	}
}

// An error names a model, also where the target has none.
func TestErrorsNameAModel(t *testing.T) {
	for api, model := range map[chaoshttp.API]string{chaoshttp.OpenAI: "gpt-4o", chaoshttp.Anthropic: "claude-sonnet-4-5", chaoshttp.Gemini: "gemini-2.5-flash", chaoshttp.Ollama: "llama3.2"} {
		for _, f := range []chaos.Fault{chaoshttp.APIError(api, chaoshttp.KindNotFound, nil), chaoshttp.ErrorInOK(api, chaoshttp.KindNotFound)} {
			for body, want := range map[string]string{`{}`: model, `{"model":"m-1"}`: "m-1"} {
				in := injectorOf(t, chaos.Rule{Fault: f})
				g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, body)
				require.NoError(t, g.err)
				assert.Contains(t, g.body, want)
			}
		}
	}
}

func TestAnAnswerOfOnesOwn(t *testing.T) {
	header := http.Header{"X-Cache": {"miss"}}
	f := chaoshttp.Status(503, &chaoshttp.StatusOptions{Body: `{"code":"busy"}`, Header: header})
	header.Set("X-Cache", "changed later")
	in := injectorOf(t, chaos.Rule{Fault: f})
	g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, `{}`)
	require.NoError(t, g.err)
	assert.Equal(t, `{"code":"busy"}`, g.body)
	assert.Equal(t, "application/json", g.resp.Header.Get("Content-Type"))
	assert.Equal(t, "miss", g.resp.Header.Get("X-Cache"))
}

func TestWrongParameters(t *testing.T) {
	for _, tt := range []struct {
		fault chaos.Fault
		param []string
	}{
		{chaoshttp.Status(200, nil), []string{"code"}},
		{chaoshttp.Status(0, &chaoshttp.StatusOptions{RetryAfter: -1, RetryDate: true}), []string{"code", "retryAfter", "retryDate"}},
		{chaoshttp.Status(500, &chaoshttp.StatusOptions{Header: http.Header{"X-A": {"1\r\nX-B: 2"}}}), []string{"header"}},
		{chaoshttp.Status(500, &chaoshttp.StatusOptions{Header: http.Header{"X A": {"1"}}}), []string{"header"}},
		{chaoshttp.APIError("mistral", chaoshttp.KindServer, nil), []string{"api"}},
		{chaoshttp.APIError(chaoshttp.Gemini, chaoshttp.KindContentFilter, nil), []string{"error"}},
		{chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindTimeout, nil), []string{"error"}},
		{chaoshttp.APIError(chaoshttp.OpenAI, "", nil), []string{"error"}},
		{chaoshttp.ErrorInOK(chaoshttp.OpenAI, ""), []string{"error"}},
		{chaoshttp.TLS("odd"), []string{"failure"}},
		{chaoshttp.SlowHeaders(0), []string{"wait"}},
		{chaoshttp.SlowBody(0, 0), []string{"chunk", "every"}},
		{chaoshttp.CutBody(-1), []string{"bytes"}},
		{chaoshttp.ShortBody(-1), []string{"bytes"}},
		{chaoshttp.SlowEvents(0), []string{"duration"}},
		{chaoshttp.SlowFirstEvent(-time.Second), []string{"duration"}},
		{chaoshttp.CutEvent(-2), []string{"after"}},
		{chaoshttp.CutCompletion(-1), []string{"keep"}},
		{chaoshttp.DriftCompletion("x"), []string{"drift"}},
		{chaoshttp.SpoilCompletion("", "x"), []string{"part", "spoil"}},
		{chaoshttp.ErrorEvent("x", chaoshttp.KindServer, -7), []string{"api", "after"}},
	} {
		_, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: tt.fault})
		var params []string
		var joined interface{ Unwrap() []error }
		require.ErrorAs(t, err, &joined)
		for _, problem := range joined.Unwrap() {
			var p *chaos.ParamError
			if errors.As(problem, &p) {
				params = append(params, p.Param)
			}
		}
		assert.Equal(t, tt.param, params, "%v", err)
	}
}
