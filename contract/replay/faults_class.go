package replay

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/failure"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

var (
	expiredWords   = regexp.MustCompile(`(?i)\bexpired\b`)
	wrongHostWords = regexp.MustCompile(`(?i)\bis valid for\b|\bnot valid for\b|\bhostname\b|ALTNAME_INVALID`)
)

// statusOf is the HTTP status of a failure: the recorded one, else the one that its text
// names; 0: none.
func statusOf(e *findings.CallError) int {
	return cmp.Or(e.Status, retryable.StatusIn(e.Text))
}

// timedOut reports whether a failure is a time-out. A status says so alone; without one
// the words do.
func timedOut(e *findings.CallError) bool {
	switch status := statusOf(e); {
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return true
	case isFailure(status):
		return false
	}
	return failure.IsTimeout(e.Text)
}

func isFailure(status int) bool { return status >= 400 && status <= 599 }

// failureOf is the fault of a failure that is no time-out.
func failureOf(c *findings.Call) chaos.Fault {
	e := c.Failure()
	if status := statusOf(e); isFailure(status) {
		o := &chaoshttp.StatusOptions{RetryAfter: max(0, e.RetryAfter)}
		if c.Type == findings.Model {
			api := providerOf(c.Tool)
			if kind := errorKind(api, status, e.Text); kind != "" {
				return chaoshttp.APIError(api, kind, o)
			}
		}
		return chaoshttp.Status(status, o)
	}
	text := e.Text
	switch failure.KindOf(text) {
	case failure.Certificate:
		switch {
		case expiredWords.MatchString(text):
			return chaoshttp.TLS(chaoshttp.TLSExpired)
		case wrongHostWords.MatchString(text):
			return chaoshttp.TLS(chaoshttp.TLSWrongHost)
		}
		return chaoshttp.TLS(chaoshttp.TLSUnknownAuthority)
	case failure.Refused:
		return chaoshttp.Refused()
	case failure.Reset:
		return chaoshttp.Reset()
	case failure.NoSuchHost:
		return chaoshttp.NoSuchHost()
	case failure.HungUp:
		return chaoshttp.HangUp()
	}
	return fault.Fail(errors.New(cmp.Or(strings.ToValidUTF8(text, "\uFFFD"), "unknown error")))
}

var (
	anthropicModel = regexp.MustCompile(`(?i)(^|[/.#])claude-`)
	openAIModel    = regexp.MustCompile(`(?i)(^|[/#])(gpt-|chatgpt-|o[1-9](-|$)|text-embedding-)`)
)

// providerOf is the API of a model by its name; "": it is not known.
func providerOf(model string) chaoshttp.API {
	switch {
	case anthropicModel.MatchString(model):
		return chaoshttp.Anthropic
	case openAIModel.MatchString(model):
		return chaoshttp.OpenAI
	}
	return ""
}

// errorKind is the error by which a provider answers with a status; "": it has none, or
// the provider is not known. It is the other direction of chaoshttp.ErrorKind.
func errorKind(api chaoshttp.API, status int, text string) chaoshttp.ErrorKind {
	if api == "" {
		return ""
	}
	openAI, says := api == chaoshttp.OpenAI, func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(text), w) })
	}
	switch {
	case status == 400 && says("context_length", "context length", "prompt is too long"):
		return chaoshttp.KindContextLength
	case status == 400 && says("content_filter", "content filter", "content management policy"):
		return chaoshttp.KindContentFilter
	case openAI && status == 429 && says("insufficient_quota", "current quota"), !openAI && status == 402:
		return chaoshttp.KindQuota
	case openAI && status == 503, !openAI && status == 529:
		return chaoshttp.KindOverloaded
	case !openAI && status == 413:
		return chaoshttp.KindTooLarge
	}
	return map[int]chaoshttp.ErrorKind{
		400: chaoshttp.KindInvalidRequest, 401: chaoshttp.KindAuthentication, 403: chaoshttp.KindPermission,
		404: chaoshttp.KindNotFound, 429: chaoshttp.KindRateLimit, 500: chaoshttp.KindServer,
	}[status]
}

// completionFault is the fault of a completion that did not end by itself, or nil. It
// keeps as many characters as the recorded completion had.
func completionFault(doc json.RawMessage) chaos.Fault {
	v, err := jsonvalue.Numbers(doc)
	if err != nil {
		return nil
	}
	var c completionScan
	c.scan("", v)
	switch {
	case c.filtered:
		return chaoshttp.FilterCompletion(c.characters)
	case c.cut:
		return chaoshttp.CutCompletion(c.characters)
	}
	return nil
}

// completionScan looks through a completion in any of the providers' forms, or in that
// of the conventions for spans.
type completionScan struct {
	cut, filtered bool
	characters    int
}

func (c *completionScan) scan(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if name == "arguments" || name == "input" {
				c.arguments(member) // what a model made up is not its ending
				continue
			}
			c.scan(name, member)
		}
	case []any:
		for _, item := range v {
			c.scan(name, item)
		}
	case string:
		switch name {
		case "content", "text", "output_text":
			c.characters += utf8.RuneCountInString(v)
		case "finish_reason", "finish_reasons", "stop_reason", "finishReason", "done_reason", "reason":
			switch strings.ToLower(v) {
			case "length", "max_tokens", "max_output_tokens":
				c.cut = true
			case "content_filter", "refusal", "safety":
				c.filtered = true
			}
		}
	}
}

func (c *completionScan) arguments(v any) {
	text, ok := v.(string)
	if !ok {
		doc, _ := json.Marshal(v) // it was decoded from JSON
		text = string(doc)
	}
	c.characters += utf8.RuneCountInString(text)
}
