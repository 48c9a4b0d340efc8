package chaoshttp

import "fmt"

// A provider is how an API writes its errors: a new API is a row in providers.
type provider struct {
	model     string // that a call asks whose target names none
	requestID string // the header with it; empty: there is none
	eventType string // of an error within a stream; empty: it has none
	body      func(e providerError, message, requestID string) string
	errors    map[ErrorKind]providerError
}

// A providerError has texts with {model}, {wait} and {seconds} to wait, which are filled in.
type providerError struct {
	status     int
	kind, code string // code: of OpenAI; empty: null
	param      string // of OpenAI; empty: null
	details    string // of Gemini: a list in JSON; empty: there are none
	text       string
}

// providers are the errors as they are documented: the pages of the APIs on errors and error
// codes, the errors of their SDKs, Azure's for the filter, and Ollama's server.
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
	Gemini: {model: "gemini-2.5-flash", body: geminiBody, errors: map[ErrorKind]providerError{
		KindInvalidRequest: {status: 400, kind: "INVALID_ARGUMENT",
			text: "* GenerateContentRequest.contents: contents is not specified\n"},
		KindContextLength: {status: 400, kind: "INVALID_ARGUMENT",
			text: "The input token count (1198310) exceeds the maximum number of tokens allowed (1048576)."},
		KindAuthentication: {status: 400, kind: "INVALID_ARGUMENT", text: "API key not valid. Please pass a valid API key.",
			details: `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"}}]`},
		KindQuota: {status: 429, kind: "RESOURCE_EXHAUSTED",
			text:    "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
			details: quotaOf + `generate_content_free_tier_requests","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"250` + retryIn},
		KindPermission: {status: 403, kind: "PERMISSION_DENIED", text: "The caller does not have permission"},
		KindNotFound: {status: 404, kind: "NOT_FOUND",
			text: "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."},
		KindTooLarge: {status: 400, kind: "INVALID_ARGUMENT",
			text: "Request payload size exceeds the limit: 20971520 bytes."},
		KindRateLimit: {status: 429, kind: "RESOURCE_EXHAUSTED",
			text:    "Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_paid_tier_requests, limit: 1000, model: {model}\nPlease retry in {seconds}.",
			details: quotaOf + `generate_content_paid_tier_requests","quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"1000` + retryIn},
		KindServer: {status: 500, kind: "INTERNAL",
			text: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"},
		KindTimeout: {status: 504, kind: "DEADLINE_EXCEEDED", text: "Deadline expired before operation could complete."},
		KindOverloaded: {status: 503, kind: "UNAVAILABLE",
			text: "The model is overloaded. Please try again later."},
	}},
	Ollama: {model: "llama3.2", body: ollamaBody, errors: map[ErrorKind]providerError{
		KindInvalidRequest: {status: 400, text: "model is required"},
		KindContextLength:  {status: 400, text: "the input length exceeds the context length"},
		KindAuthentication: {status: 401, text: "unauthorized"},
		KindQuota:          {status: 429, text: "you've reached your hourly usage limit, please upgrade to continue"},
		KindPermission: {status: 403,
			text: "this model requires a subscription, upgrade for access: https://ollama.com/upgrade"},
		KindNotFound:   {status: 404, text: "model '{model}' not found"},
		KindRateLimit:  {status: 429, text: "too many concurrent requests"},
		KindServer:     {status: 500, text: "llama runner process has terminated: exit status 2"},
		KindOverloaded: {status: 503, text: "server busy, please try again.  maximum pending requests exceeded"},
	}},
	Bedrock: {model: "anthropic.claude-sonnet-4-5", requestID: "X-Amzn-Requestid", body: bedrockBody, errors: map[ErrorKind]providerError{
		KindInvalidRequest: {status: 400, kind: "ValidationException",
			text: "1 validation error detected: Value at 'messages' failed to satisfy constraint: Member must not be null"},
		KindContextLength: {status: 400, kind: "ValidationException", text: "Input is too long for requested model."},
		KindAuthentication: {status: 403, kind: "UnrecognizedClientException",
			text: "The security token included in the request is invalid."},
		KindQuota: {status: 400, kind: "ServiceQuotaExceededException",
			text: "Your request exceeds the service quota for your account."},
		KindPermission: {status: 403, kind: "AccessDeniedException",
			text: "You don't have access to the model with the specified model ID."},
		KindNotFound: {status: 404, kind: "ResourceNotFoundException",
			text: "Could not resolve the foundation model from the provided model identifier."},
		KindRateLimit: {status: 429, kind: "ThrottlingException",
			text: "Too many requests, please wait before trying again."},
		KindServer: {status: 500, kind: "InternalServerException",
			text: "The system encountered an unexpected error during processing. Try your request again."},
		KindTimeout: {status: 408, kind: "ModelTimeoutException",
			text: "Model processing timed out. Try your request again."},
		KindOverloaded: {status: 503, kind: "ServiceUnavailableException",
			text: "Bedrock is unable to process your request."},
	}},
}

const invalidRequest = "invalid_request_error"

// The details of a quota that is used up: which it is stands between the two.
const (
	quotaOf = `[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/`
	retryIn = `"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{seconds}"}]`
)

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

// geminiBody has details as google.rpc.Status has them.
func geminiBody(e providerError, message, _ string) string {
	details := ""
	if e.details != "" {
		details = `,"details":` + e.details
	}
	return fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%s%s}}`, e.status, encode(message), encode(e.kind), details)
}

func ollamaBody(_ providerError, message, _ string) string {
	return fmt.Sprintf(`{"error":%s}`, encode(message))
}

// bedrockBody has no type: that is a header.
func bedrockBody(_ providerError, message, _ string) string {
	return fmt.Sprintf(`{"message":%s}`, encode(message))
}
