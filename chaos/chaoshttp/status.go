package chaoshttp

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// StatusOptions are the settings of [Status] and [APIError]; the zero value
// works.
type StatusOptions struct {
	_ struct{}
	// RetryAfter is sent in the header of that name, in seconds, rounded up
	// (RFC 9110, section 10.2.3); 0: it is not sent.
	RetryAfter time.Duration `json:"retryAfter,omitempty" bounds:"min=0" doc:"sent in the header of that name"`
	// RetryDate sends RetryAfter as a date: the moment at which it is over.
	RetryDate bool `json:"retryDate,omitempty" doc:"it is sent as a date, not as seconds"`
	// Header is sent besides; its values replace those of the fault.
	Header http.Header `json:"header,omitempty" doc:"sent besides"`
	// Body is sent as it is; empty: the text of the status, or the body of the
	// API. Its content type is that of Header, or else detected.
	Body string `json:"body,omitempty" doc:"sent as it is; left out: the usual one"`
}

// Status answers a call with a status code from 400 to 599; the callee is not
// reached. A client gets the response; a function, tool or other point gets the
// [*HTTPError]. o may be nil.
//
// Quotas and expiry are triggers: with when.After(n) a 429 is a quota of n
// calls, and a 401 an authentication that expires after n.
func Status(code int, o *StatusOptions) chaos.Fault {
	return status.Of(statusParams{Code: code, StatusOptions: o.copied()})
}

func (o *StatusOptions) copied() (c StatusOptions) {
	if o != nil {
		c = *o
		c.Header = o.Header.Clone()
	}
	return c
}

type statusParams struct {
	Code int `json:"code" bounds:"min=400,max=599" allowed:"a status code from 400 to 599" doc:"the status"`
	StatusOptions
	line string // of the answer
}

func (p statusParams) Check(c *catalog.Check) { p.check(c) }

// Coordinates has the persistence of the code.
func (p statusParams) Coordinates(d *chaos.Description) { d.Persistence = persistence(p.Code) }

var status = &catalog.Fail[statusParams]{
	Row: catalog.Row{
		Kind: "http_status", Doc: "The server answers with a status.",
		Go: "chaoshttp.Status(code, o)", Example: `{"code":503,"retryAfter":"10s"}`,
		Class: chaos.ClassCrash,
	},
	Prepare: func(p statusParams) statusParams {
		p.StatusOptions, p.line = p.copied(), statusLine(p.Code)
		return p
	},
	Fail: func(_ chaos.Call, p statusParams) error {
		m := newFailure(p.Code, p.line)
		if p.Body == "" {
			m.Body = append(append(m.room[:0], http.StatusText(p.Code)...), '\n')
			m.set("Content-Type", "text/plain; charset=utf-8")
		}
		return m.finish(&p.StatusOptions)
	},
}

func (o *StatusOptions) check(c *catalog.Check) {
	for _, name := range slices.Sorted(maps.Keys(o.Header)) {
		bad := name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ':' || r > '~' }) ||
			strings.ContainsAny(strings.Join(o.Header[name], ""), "\r\n\x00")
		c.That(!bad, "header", name, "names and values that a header can have (RFC 9110, section 5)")
	}
	c.That(!o.RetryDate || o.RetryAfter > 0, "retryDate", o.RetryDate, "false, or a retryAfter of more than 0")
}

// wait is RetryAfter in whole seconds, rounded up, as the header says it; 0: none.
func (o *StatusOptions) wait() time.Duration {
	if up := o.RetryAfter + time.Second - 1; up > 0 {
		return up.Truncate(time.Second)
	}
	return o.RetryAfter // the sum is more than a duration holds
}

// failure is an error with room for what most answers of failure have, in one
// allocation. The response is not part of it: an event keeps the error, and
// must not keep the request that a response leads to.
type failure struct {
	HTTPError
	values [4]string // of the usual headers
	used   uint8     // of values
	room   [39]byte  // for the body
}

func newFailure(code int, line string) *failure {
	return &failure{HTTPError: HTTPError{StatusCode: code, Header: make(http.Header, 8), own: 1, line: line}}
}

// set sets one of the usual headers; name is in its canonical form.
func (m *failure) set(name, value string) {
	m.values[m.used] = value
	m.Header[name] = m.values[m.used : m.used+1 : m.used+1]
	m.used++
}

func (m *failure) finish(o *StatusOptions) error {
	if o.Body != "" {
		m.Body, m.Message = []byte(o.Body), ""
		m.set("Content-Type", contentType(m.Body))
	}
	now := time.Now().UTC()
	m.set("Date", now.Format(http.TimeFormat))
	if o.RetryAfter > 0 && o.RetryDate {
		m.set("Retry-After", now.Add(o.RetryAfter+time.Second-1).Truncate(time.Second).Format(http.TimeFormat))
	} else if o.RetryAfter > 0 {
		m.set("Retry-After", strconv.FormatInt(int64(o.wait()/time.Second), 10))
	}
	for name, values := range o.Header {
		m.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	m.set("Content-Length", strconv.Itoa(len(m.Body)))
	return &m.HTTPError
}

// contentType is that of JSON, or what net/http would detect.
func contentType(body []byte) string {
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		return "application/json"
	}
	return http.DetectContentType(body)
}

// persistence reports whether a retry can help: the statuses of a request that
// is wrong in itself are permanent.
func persistence(code int) chaos.Persistence {
	if retryable.OfStatus(code) == retryable.Transient {
		return chaos.Transient
	}
	return chaos.Permanent
}

// An API is a family of model providers, by the form of its messages.
type API string

// The APIs whose endpoints and error bodies are known.
const (
	OpenAI    API = "openai"    // and those compatible with it
	Anthropic API = "anthropic" // the Messages API
)

// An ErrorKind is a way in which a model provider refuses a call. A plan with a
// kind that its [API] does not have is refused.
type ErrorKind string

// The kinds of error, with the status that OpenAI and Anthropic give them; –
// means that the API does not have the kind.
const (
	KindInvalidRequest ErrorKind = "invalid_request" // 400 400
	KindContextLength  ErrorKind = "context_length"  // 400 400: the prompt is too long
	KindContentFilter  ErrorKind = "content_filter"  // 400 400: of Azure for OpenAI
	KindAuthentication ErrorKind = "authentication"  // 401 401
	KindQuota          ErrorKind = "quota"           // 429 402: no credit is left
	KindPermission     ErrorKind = "permission"      // 403 403
	KindNotFound       ErrorKind = "not_found"       // 404 404: the model
	KindTooLarge       ErrorKind = "too_large"       // –   413
	KindRateLimit      ErrorKind = "rate_limit"      // 429 429
	KindServer         ErrorKind = "server"          // 500 500
	KindTimeout        ErrorKind = "timeout"         // –   504
	KindOverloaded     ErrorKind = "overloaded"      // 503 529
)

// APIError answers a call as the provider does: status, headers with a request
// identifier, and the JSON of its error. The model that it names is that of the
// target. A time to wait that the message names is RetryAfter, if there is one.
// o may be nil. Otherwise it is like [Status].
func APIError(api API, kind ErrorKind, o *StatusOptions) chaos.Fault {
	return apiError.Of(apiErrorParams{errorOf: errorOf{api, kind}, StatusOptions: o.copied()})
}

type errorOf struct {
	API   API       `json:"api" bounds:"enum=openai|anthropic"`
	Error ErrorKind `json:"error" bounds:"enum=invalid_request|context_length|content_filter|authentication|quota|permission|not_found|too_large|rate_limit|server|timeout|overloaded"`
}

type apiErrorParams struct {
	errorOf
	StatusOptions
	code int
	line string // of the answer
}

func (p apiErrorParams) Check(c *catalog.Check) {
	checkKind(c, p.API, p.Error)
	p.check(c)
}

// Coordinates has the persistence of the status, or of the error.
func (p apiErrorParams) Coordinates(d *chaos.Description) {
	if d.Persistence = persistence(p.code); p.Error == KindQuota {
		d.Persistence = chaos.Permanent
	}
}

var apiError = &catalog.Fail[apiErrorParams]{
	Row: catalog.Row{
		Kind: "api_error", Doc: "The provider answers with an error of its own.",
		Go: "chaoshttp.APIError(api, kind, o)", Example: `{"api":"openai","error":"rate_limit"}`,
		Layer: chaos.LayerLLM, Class: chaos.ClassCrash,
	},
	Prepare: func(p apiErrorParams) apiErrorParams {
		p.code = providers[p.API].errors[p.Error].status
		p.StatusOptions, p.line = p.copied(), statusLine(p.code)
		return p
	},
	Fail: failAs,
}

func failAs(c chaos.Call, p apiErrorParams) error {
	m := newFailure(p.code, p.line)
	m.Body, m.Message = errorBody(p.API, p.Error, c, p.wait())
	m.Header.Set("Content-Type", "application/json")
	m.Header.Set(providers[p.API].requestID, requestID(c))
	if p.API == Anthropic {
		m.Header.Set("X-Should-Retry", fmt.Sprint(p.code >= 500 || p.code == http.StatusTooManyRequests))
	}
	return m.finish(&p.StatusOptions)
}

// A provider is how an API writes its errors: a new API is a row in providers.
type provider struct {
	model     string // that a call asks whose target names none
	requestID string // the header with it
	eventType string // of an error within a stream; empty: it has none
	body      func(e providerError, message, requestID string) string
	errors    map[ErrorKind]providerError
}

type providerError struct {
	status     int
	kind, code string // code: of OpenAI; empty: null
	param      string // of OpenAI; empty: null
	text       string // with {model} and {wait}, which are filled in
}

// providers are the errors as they are documented: the errors and error codes
// pages of both APIs, the errors of their SDKs, and Azure's for the filter.
var providers = map[API]provider{
	OpenAI: {model: "gpt-4o", requestID: "X-Request-Id", body: openAIBody, errors: map[ErrorKind]providerError{
		KindInvalidRequest: {status: 400, kind: invalidRequest, code: "missing_required_parameter", param: "messages",
			text: "Missing required parameter: 'messages'."},
		KindContextLength: {status: 400, kind: invalidRequest, code: "context_length_exceeded", param: "messages",
			text: "This model's maximum context length is 128000 tokens. However, your messages resulted in 131245 tokens. Please reduce the length of the messages."},
		KindContentFilter: {status: 400, code: "content_filter", param: "prompt",
			text: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766"},
		KindAuthentication: {status: 401, kind: invalidRequest, code: "invalid_api_key",
			text: "Incorrect API key provided: sk-proj-********************************aB3d. You can find your API key at https://platform.openai.com/account/api-keys."},
		KindQuota: {status: 429, kind: "insufficient_quota", code: "insufficient_quota",
			text: "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."},
		KindPermission: {status: 403, kind: "request_forbidden", code: "unsupported_country_region_territory",
			text: "Country, region, or territory not supported"},
		KindNotFound: {status: 404, kind: invalidRequest, code: "model_not_found",
			text: "The model `{model}` does not exist or you do not have access to it."},
		KindRateLimit: {status: 429, kind: "requests", code: "rate_limit_exceeded",
			text: "Rate limit reached for {model} in organization org-7Yq2LmVx on requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in {wait}. Visit https://platform.openai.com/account/rate-limits to learn more."},
		KindServer: {status: 500, kind: "server_error",
			text: "The server had an error while processing your request. Sorry about that!"},
		KindOverloaded: {status: 503, kind: "server_error",
			text: "The engine is currently overloaded, please try again later."},
	}},
	Anthropic: {model: "claude-sonnet-4-5", requestID: "Request-Id", eventType: "error", body: anthropicBody, errors: map[ErrorKind]providerError{
		KindInvalidRequest: {status: 400, kind: invalidRequest, text: "messages: at least one message is required"},
		KindContextLength: {status: 400, kind: invalidRequest,
			text: "prompt is too long: 208310 tokens > 200000 maximum"},
		KindContentFilter:  {status: 400, kind: invalidRequest, text: "Output blocked by content filtering policy"},
		KindAuthentication: {status: 401, kind: "authentication_error", text: "invalid x-api-key"},
		KindQuota: {status: 402, kind: "billing_error",
			text: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},
		KindPermission: {status: 403, kind: "permission_error",
			text: "Your API key does not have permission to use the specified resource."},
		KindNotFound: {status: 404, kind: "not_found_error", text: "model: {model}"},
		KindTooLarge: {status: 413, kind: "request_too_large", text: "Request exceeds the maximum size"},
		KindRateLimit: {status: 429, kind: "rate_limit_error",
			text: "This request would exceed your organization's rate limit of 50 requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits."},
		KindServer:     {status: 500, kind: "api_error", text: "Internal server error"},
		KindTimeout:    {status: 504, kind: "timeout_error", text: "Request timed out."},
		KindOverloaded: {status: statusOverloaded, kind: "overloaded_error", text: "Overloaded"},
	}},
}

const invalidRequest = "invalid_request_error"

// checkKind refuses a kind of error that only other APIs have. Bounds refuse an
// unknown API or kind.
func checkKind(c *catalog.Check, api API, kind ErrorKind) {
	own, known := providers[api]
	_, has := own.errors[kind]
	elsewhere := false
	for _, other := range providers {
		_, of := other.errors[kind]
		elsewhere = elsewhere || of
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(own.errors)) {
		names = append(names, string(name))
	}
	c.That(!known || has || !elsewhere, "error", kind, "for "+string(api)+": "+strings.Join(names, ", "))
}

// drawRequestID is the salt of the draw: ASCII for "request".
const drawRequestID = 0x72657175657374

// requestID names the call, the same in every run.
func requestID(c chaos.Call) string {
	const half = 1 << 32
	return fmt.Sprintf("req_%08x%08x%08x", uint32(c.Draw(drawRequestID)*half), uint32(c.Draw(drawRequestID+1)*half),
		uint32(c.Draw(drawRequestID+2)*half))
}

// errorBody is the JSON of an error, and its message. wait is when to try again;
// 0: what the provider says when it is soon.
func errorBody(api API, kind ErrorKind, c chaos.Call, wait time.Duration) (body []byte, message string) {
	p, known := providers[api]
	if !known { // a plan refuses it
		p = providers[OpenAI]
	}
	_, model, named := strings.Cut(c.Target, "#")
	if !named {
		model = p.model
	}
	wait = cmp.Or(wait, 120*time.Millisecond)
	message = strings.NewReplacer("{model}", model, "{wait}", wait.String()).Replace(p.errors[kind].text)
	return []byte(p.body(p.errors[kind], message, requestID(c))), message
}

func anthropicBody(e providerError, message, requestID string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s},"request_id":%s}`,
		encode(e.kind), encode(message), encode(requestID))
}

// openAIBody writes null for what does not apply.
func openAIBody(e providerError, message, _ string) string {
	orNull := func(text string) []byte {
		if text == "" {
			return []byte("null")
		}
		return encode(text)
	}
	return fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":%s,"code":%s}}`,
		encode(message), orNull(e.kind), orNull(e.param), orNull(e.code))
}

// encode is a text as JSON, with & and < as they are, as the providers write them.
func encode(text string) []byte { return jsonedit.Quote(strings.ToValidUTF8(text, "\uFFFD")) }
