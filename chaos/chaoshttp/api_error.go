package chaoshttp

import (
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
	"github.com/shakedown-go/shakedown/internal/modelapi"
)

// An API is a family of model providers, by the form of its messages.
type API string

// The APIs whose endpoints and error bodies are known.
const (
	OpenAI    API = "openai"    // and those compatible with it
	Anthropic API = "anthropic" // the Messages API
	Gemini    API = "gemini"    // Google's
	Ollama    API = "ollama"    // its own API
	Bedrock   API = "bedrock"   // Amazon's
)

// An ErrorKind is a way in which a model provider refuses a call. A plan with a
// kind that its [API] does not have is refused.
type ErrorKind string

// The kinds of error, with the status that OpenAI, Anthropic, Gemini, Ollama and Bedrock give
// them; – means that the API does not have the kind.
const (
	KindInvalidRequest ErrorKind = "invalid_request" // 400 400 400 400 400
	KindContextLength  ErrorKind = "context_length"  // 400 400 400 400 400: the prompt is too long
	KindContentFilter  ErrorKind = "content_filter"  // 400 400 –   –   –: of Azure for OpenAI
	KindAuthentication ErrorKind = "authentication"  // 401 401 400 401 403
	KindQuota          ErrorKind = "quota"           // 429 402 429 429 400: no credit is left
	KindPermission     ErrorKind = "permission"      // 403 403 403 403 403
	KindNotFound       ErrorKind = "not_found"       // 404 404 404 404 404: the model
	KindTooLarge       ErrorKind = "too_large"       // –   413 400 –   –
	KindRateLimit      ErrorKind = "rate_limit"      // 429 429 429 429 429
	KindServer         ErrorKind = "server"          // 500 500 500 500 500
	KindTimeout        ErrorKind = "timeout"         // –   504 504 –   408
	KindOverloaded     ErrorKind = "overloaded"      // 503 529 503 503 503
)

// APIError answers a call as the provider does: status, headers with a request
// identifier, and the JSON of its error. The model that it names is that of the
// target. A time to wait that the message names is RetryAfter, if there is one.
// o may be nil. Otherwise it is like [Status].
//
// If api is empty, the provider is that of the request, by its path. Where that is not
// known, or has no error of the kind, nothing is injected, and the event says so. The error
// of another provider than the path's is injected, and named in the event.
func APIError(api API, kind ErrorKind, o *StatusOptions) chaos.Fault {
	return apiError.Of(apiErrorParams{errorOf: errorOf{api, kind}, StatusOptions: o.copied()})
}

type errorOf struct {
	API   API       `json:"api,omitempty" bounds:"enum=|openai|anthropic|gemini|ollama|bedrock" doc:"whose error; left out: that of the request's provider"`
	Error ErrorKind `json:"error" bounds:"enum=invalid_request|context_length|content_filter|authentication|quota|permission|not_found|too_large|rate_limit|server|timeout|overloaded"`
}

type apiErrorParams struct {
	errorOf
	StatusOptions
	line string // of the answer; empty: it is that of the request's provider
}

func (p apiErrorParams) Check(c *catalog.Check) {
	checkKind(c, p.API, p.Error)
	p.check(c)
}

// Coordinates has the persistence of the status, or of the error.
func (p apiErrorParams) Coordinates(d *chaos.Description) {
	for _, api := range []API{p.API, OpenAI, Anthropic} { // one of the two has any kind
		if e, ok := providers[api].errors[p.Error]; ok {
			d.Persistence = persistence(e.status)
			break
		}
	}
	if p.Error == KindQuota {
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
		if p.StatusOptions = p.copied(); p.API != "" {
			p.line = statusLine(providers[p.API].errors[p.Error].status)
		}
		return p
	},
	FailArgs: failAs,
}

func failAs(c chaos.Call, p apiErrorParams, args any) (note string, err error) {
	e, note, ok := p.resolve(requestIn(args), c.Target)
	if !ok {
		return note, nil
	}
	of, code := providers[e.API], providers[e.API].errors[e.Error].status
	m := newFailure(code, cmp.Or(p.line, statusLine(code)))
	m.Body, m.Message = e.body(c, p.wait())
	m.Header.Set("Content-Type", "application/json")
	if of.requestID != "" {
		m.Header.Set(of.requestID, requestID(c))
	}
	switch e.API {
	case Anthropic:
		m.Header.Set("X-Should-Retry", fmt.Sprint(code >= 500 || code == http.StatusTooManyRequests))
	case Bedrock:
		m.Header.Set("X-Amzn-Errortype", of.errors[e.Error].kind)
	}
	return note, m.finish(&p.StatusOptions)
}

// resolve is the error with its provider, and what is to be said of that. ok is false if the
// provider has no such error.
func (e errorOf) resolve(r Request, target string) (of errorOf, note string, ok bool) {
	path := modelapi.PathOf(target)
	if r.Request != nil && r.URL != nil {
		path = r.URL.Path
	}
	asked := API(modelapi.Provider(path))
	switch {
	case e.API != "" && asked != "" && asked != e.API:
		note = fmt.Sprintf("the error is one of %s, and the path one of %s", e.API, asked)
	case e.API == "" && asked == "":
		return e, "the provider of the request is not known, so there is no error of its own", false
	case e.API == "":
		e.API = asked
	}
	if _, ok = providers[e.API].errors[e.Error]; !ok {
		note = fmt.Sprintf("%s has no error of the kind %s", e.API, e.Error)
	}
	return e, note, ok
}

// checkKind refuses a kind of error that only other APIs have. Bounds refuse an
// unknown API or kind.
func checkKind(c *catalog.Check, api API, kind ErrorKind) {
	own, known := providers[api]
	_, has := own.errors[kind]
	_, openAI := providers[OpenAI].errors[kind]
	_, anthropic := providers[Anthropic].errors[kind] // one of the two has any kind
	var names []string
	for _, name := range slices.Sorted(maps.Keys(own.errors)) {
		names = append(names, string(name))
	}
	c.That(!known || has || !openAI && !anthropic, "error", kind, "for "+string(api)+": "+strings.Join(names, ", "))
}

// drawRequestID is the salt of the draw: ASCII for "request".
const drawRequestID = 0x72657175657374

// requestID names the call, the same in every run.
func requestID(c chaos.Call) string {
	const half = 1 << 32
	return fmt.Sprintf("req_%08x%08x%08x", uint32(c.Draw(drawRequestID)*half), uint32(c.Draw(drawRequestID+1)*half),
		uint32(c.Draw(drawRequestID+2)*half))
}

// body is the JSON of an error of a known provider, and its message. wait is when to try
// again; 0: what the provider says when it is soon.
func (e errorOf) body(c chaos.Call, wait time.Duration) (body []byte, message string) {
	p := providers[e.API]
	_, model, named := strings.Cut(c.Target, "#")
	if !named {
		model = cmp.Or(modelapi.ModelIn(modelapi.PathOf(c.Target)), p.model)
	}
	wait = cmp.Or(wait, 120*time.Millisecond)
	is := p.errors[e.Error]
	fill := strings.NewReplacer("{model}", model, "{wait}", wait.String(),
		"{seconds}", strconv.FormatFloat(wait.Seconds(), 'f', -1, 64)+"s")
	is.details = fill.Replace(is.details)
	message = fill.Replace(is.text)
	return []byte(p.body(is, message, requestID(c))), message
}
