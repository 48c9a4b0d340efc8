package chaoshttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

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

// errorOf is an error of a provider.
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
		Layer: chaos.LayerLLM, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
		Persistence: chaos.Transient, Effect: chaos.EffectNone,
	},
	Prepare: func(p apiErrorParams) apiErrorParams {
		p.code = providers[p.API][p.Error].status
		p.StatusOptions, p.line = p.copied(), statusLine(p.code)
		return p
	},
	Fail: failAs,
}

// failAs returns the answer as the provider writes it.
func failAs(c chaos.Call, p apiErrorParams) error {
	m, id := newFailure(p.code, p.line), requestID(c)
	m.Body, m.Message = errorBody(p.API, p.Error, c, p.wait())
	m.Header.Set("Content-Type", "application/json")
	if p.API == Anthropic {
		m.Header.Set("Request-Id", id)
		m.Header.Set("X-Should-Retry", fmt.Sprint(p.code >= 500 || p.code == http.StatusTooManyRequests))
	} else {
		m.Header.Set("X-Request-Id", id)
	}
	return m.finish(&p.StatusOptions)
}

// providerError is the answer of a provider to one kind of error.
type providerError struct {
	status     int
	kind, code string // code: of OpenAI; empty: null
	param      string // of OpenAI; empty: null
	text       string // with modelHere and waitHere
}

// The places of a text that are filled in.
const (
	modelHere = "{model}"
	waitHere  = "{wait}"
)

// providers are the errors as they are documented: the errors and error codes
// pages of both APIs, the errors of their SDKs, and Azure's for the filter.
var providers = map[API]map[ErrorKind]providerError{
	OpenAI: {
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
	},
	Anthropic: {
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
	},
}

const invalidRequest = "invalid_request_error"

// checkKind refuses a kind of error that only other APIs have. Bounds refuse an
// unknown API or kind.
func checkKind(c *catalog.Check, api API, kind ErrorKind) {
	kinds, known := providers[api]
	_, has := kinds[kind]
	elsewhere := false
	for _, others := range providers {
		_, of := others[kind]
		elsewhere = elsewhere || of
	}
	c.That(!known || has || !elsewhere, "error", kind, "for "+string(api)+": "+namesOf(kinds))
}

func namesOf(kinds map[ErrorKind]providerError) string {
	names := make([]string, 0, len(kinds))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// drawRequestID is the salt of the draw: ASCII for "request".
const drawRequestID = 0x72657175657374

// requestID names the call, the same in every run.
func requestID(c chaos.Call) string {
	const half = 1 << 32
	return fmt.Sprintf("req_%08x%08x%08x", uint32(c.Draw(drawRequestID)*half), uint32(c.Draw(drawRequestID+1)*half),
		uint32(c.Draw(drawRequestID+2)*half))
}

// modelOf is the model that a call asks, as its target names it; if that names
// none, a usual one.
func modelOf(api API, target string) string {
	if _, named, ok := strings.Cut(target, "#"); ok {
		return named
	}
	if api == Anthropic {
		return "claude-sonnet-4-5"
	}
	return "gpt-4o"
}

// errorBody is the JSON of an error, and its message. wait is when to try again;
// 0: what the provider says when it is soon.
func errorBody(api API, kind ErrorKind, c chaos.Call, wait time.Duration) (body []byte, message string) {
	s := providers[api][kind]
	if wait == 0 {
		wait = 120 * time.Millisecond
	}
	message = strings.ReplaceAll(strings.ReplaceAll(s.text, modelHere, modelOf(api, c.Target)), waitHere, wait.String())
	if api == Anthropic {
		var doc struct {
			Type  string `json:"type"`
			Error struct {
				Type    string `json:"type"`
				Message string `json:"message"`
			} `json:"error"`
			RequestID string `json:"request_id"`
		}
		doc.Type, doc.Error.Type, doc.Error.Message, doc.RequestID = "error", s.kind, message, requestID(c)
		return encode(doc), message
	}
	return openAIBody(s, message), message
}

// openAIBody writes null for what does not apply.
func openAIBody(s providerError, message string) []byte {
	orNull := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	var doc struct {
		Error struct {
			Message string  `json:"message"`
			Type    *string `json:"type"`
			Param   *string `json:"param"`
			Code    *string `json:"code"`
		} `json:"error"`
	}
	doc.Error.Message, doc.Error.Type, doc.Error.Param, doc.Error.Code = message, orNull(s.kind), orNull(s.param),
		orNull(s.code)
	return encode(doc)
}

// encode writes & and < as they are, as the providers do.
func encode(doc any) []byte {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	_ = e.Encode(doc) // plain values have JSON
	return bytes.TrimSuffix(body.Bytes(), []byte("\n"))
}
