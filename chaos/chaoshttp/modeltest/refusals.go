package modeltest

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
)

// sayings are what a provider says of each problem, in its own words where they are
// known.
type sayings map[what]saying

// what is a problem: its kind, and the value or name where the words depend on it.
type what struct {
	kind
	variant string
}

// A saying is an answer. {at}, {part}, {name}, {value} and {ids} are those of the
// problem.
type saying struct {
	status int // 0: 400
	code   string
	param  string // of OpenAI
	text   string
}

// wordsOf is what the first of several tables says of a problem, filled in.
func (p *problem) wordsOf(tables ...sayings) saying {
	says := saying{text: "{value}"}
	fill := strings.NewReplacer("{at}", strconv.Itoa(p.at), "{part}", strconv.Itoa(p.part), "{name}", p.name,
		"{value}", p.value, "{ids}", strings.Join(p.ids, ", "))
search:
	for _, table := range tables {
		for _, variant := range []string{cmp.Or(p.value, p.name), p.name, ""} {
			if found, ok := table[what{p.kind, variant}]; ok {
				says = found
				break search
			}
		}
	}
	says.status = cmp.Or(says.status, http.StatusBadRequest)
	says.param, says.text = fill.Replace(says.param), fill.Replace(says.text)
	return says
}

var anthropicSays = sayings{
	{badPath, ""}:   {http.StatusNotFound, "not_found_error", "", "Not Found"},
	{badMethod, ""}: {http.StatusMethodNotAllowed, "", "", "Method Not Allowed"},
	{tooLarge, ""}: {http.StatusRequestEntityTooLarge, "request_too_large", "",
		"Request exceeds the maximum size"},
	{notJSON, ""}:           {text: "The request body is not valid JSON: {value}"},
	{badType, ""}:           {text: "{name}: Input has the wrong type: {value}"},
	{noModel, ""}:           {text: "model: Field required"},
	{noMaxTokens, ""}:       {text: "max_tokens: Input should be greater than or equal to 1"},
	{noMaxTokens, "none"}:   {text: "max_tokens: Field required"},
	{noMessages, ""}:        {text: "messages: at least one message is required"},
	{noMessages, "missing"}: {text: "messages: Field required"},
	{badRole, ""}:           {text: "messages.{at}.role: Input should be 'user' or 'assistant'"},
	{badRole, roleSystem}: {
		text: "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, " +
			"not \"system\" as an input message role."},
	{badBlock, ""}:         {text: "messages.{at}: `tool_result` blocks can only be in `user` messages"},
	{badBlock, "tool_use"}: {text: "messages.{at}: `tool_use` blocks can only be in `assistant` messages"},
	{noText, ""}: {
		text: "messages.{at}: all messages must have non-empty content except for the optional final assistant message"},
	{badArgs, ""}: {text: "messages.{at}.content.{part}.tool_use.input: Input should be a valid dictionary"},
	{noCall, ""}: {
		text: "messages.{at}.content.{part}: unexpected `tool_use_id` found in `tool_result` blocks: {ids}. " +
			"Each `tool_result` block must have a corresponding `tool_use` block in the previous message."},
	{noResult, ""}: {
		text: "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. " +
			"Each `tool_use` block must have a corresponding `tool_result` block in the next message."},
	{sameID, ""}:           {text: "messages.{at}.content: `tool_use` ids must be unique, found again: {ids}"},
	{noID, ""}:             {text: "messages.{at}.content: tool_use.id: Field required"},
	{badSchema, ""}:        {text: "tools.{at}.custom.input_schema.type: Input should be 'object'"},
	{badSchema, "invalid"}: {text: "tools.{at}.custom.input_schema: Field required"},
}

// openAISays has what both forms of the API say.
var openAISays = sayings{
	{badPath, ""}:   {status: http.StatusNotFound, text: "Invalid URL ({value})"},
	{badMethod, ""}: {http.StatusMethodNotAllowed, "method_not_supported", "", "Not allowed to {name} on {value}."},
	{tooLarge, ""}:  {status: http.StatusRequestEntityTooLarge, text: "The request body is too large."},
	{notJSON, ""}: {
		text: "We could not parse the JSON body of your request: {value}. The OpenAI API expects a JSON payload, " +
			"but what was sent was not valid JSON."},
	{badType, ""}: {code: "invalid_type", param: "{name}", text: "Invalid type for '{name}': got {value}."},
	{noModel, ""}: {code: missing, param: "model", text: "you must provide a model parameter"},
	{manyAnswers, ""}: {code: "unsupported_value", param: "{name}",
		text: "Unsupported value: '{name}' is {value}; this model gives 1 answer."},
}

// The codes that several problems have.
const (
	missing   = "missing_required_parameter"
	invalid   = "invalid_value"
	badParams = "invalid_function_parameters"
)

const wantsObject = "Invalid schema for function '{name}': schema must be a JSON Schema of " +
	"'type: \"object\"', got 'type: \"{value}\"'."

var chatSays = sayings{
	{badRole, ""}: {code: invalid, param: "messages[{at}].role", text: "Invalid value: '{name}'. " +
		"Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'."},
	{noMessages, ""}: {code: missing, param: "messages", text: "Missing required parameter: 'messages'."},
	{noMessages, "empty"}: {code: "empty_array", param: "messages", text: "Invalid 'messages': empty array. " +
		"Expected an array with minimum length 1, but got an empty array instead."},
	{noCall, ""}: {param: "messages.[{at}].role", text: "Invalid parameter: messages with role 'tool' must be " +
		"a response to a preceeding message with 'tool_calls'. No such call is open with the id '{ids}'."},
	{noResult, ""}: {param: "messages.[{at}].role",
		text: "An assistant message with 'tool_calls' must be followed by " +
			"tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"},
	{sameID, ""}: {code: invalid, param: "messages[{at}].tool_calls[{part}].id",
		text: "Duplicate tool call id: '{ids}'. Each tool call must have an id of its own."},
	{noID, ""}: {code: missing, param: "messages[{at}].tool_calls[{part}].id",
		text: "Missing required parameter: 'messages[{at}].tool_calls[{part}].id'."},
	{badSchema, ""}: {code: badParams, param: "tools[{at}].function.parameters", text: wantsObject},
}

var responsesSay = sayings{
	{badRole, ""}: {code: invalid, param: "input[{at}]",
		text: "Invalid value: '{name}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."},
	{noMessages, ""}: {code: missing, param: "input", text: "Missing required parameter: 'input'."},
	{noCall, ""}:     {param: "input", text: "No tool call found for function call output with call_id {ids}."},
	{noResult, ""}:   {param: "input", text: "No tool output found for function call {ids}."},
	{sameID, ""}: {code: invalid, param: "input[{at}].call_id",
		text: "Duplicate call_id: '{ids}'. Each function call must have a call_id of its own."},
	{noID, ""}: {code: missing, param: "input[{at}].call_id",
		text: "Missing required parameter: 'input[{at}].call_id'."},
	{noStored, ""}: {status: http.StatusNotFound, param: "input", text: "Item with id '{ids}' not found."},
	{noStored, "response"}: {code: "previous_response_not_found", param: "previous_response_id",
		text: "Previous response with id '{ids}' not found."},
	{noStored, "conversation"}: {status: http.StatusNotFound, param: "conversation",
		text: "Conversation with id {ids} not found."},
	{badSchema, ""}: {code: badParams, param: "tools[{at}].parameters", text: wantsObject},
}

var geminiSays = sayings{
	{badPath, ""}: {http.StatusNotFound, "NOT_FOUND", "", "The requested URL was not found on this server: {value}"},
	{badMethod, ""}: {http.StatusNotFound, "NOT_FOUND", "",
		"The requested URL was not found on this server: {name} {value}"},
	{tooLarge, ""}:   {status: http.StatusRequestEntityTooLarge, text: "Request payload size exceeds the limit"},
	{notJSON, ""}:    {text: "Invalid JSON payload received. {value}"},
	{badType, ""}:    {text: "Invalid value at '{name}': {value}"},
	{noMessages, ""}: {text: "* GenerateContentRequest.contents: contents is not specified\n"},
	{badRole, ""}:    {text: "Please use a valid role: user, model."},
	{noText, ""}:     {text: "* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.\n"},
	{badArgs, ""}: {text: "Invalid value at 'contents[{at}].parts[{part}].function_call.args' " +
		"(type.googleapis.com/google.protobuf.Struct), {value}"},
	{noCall, ""}: {text: "Please ensure that function response turn comes immediately after a function call turn. " +
		"And the number of function response parts should be equal to number of function call parts of the function call turn."},
	{noResult, ""}: {
		text: "Please ensure that the number of function response parts is equal to the number of function call parts " +
			"of the function call turn."},
	{sameID, ""}: {
		text: "Please ensure that the ids of function calls are unique: contents[{at}].parts[{part}] has again \"{ids}\"."},
	{badSchema, ""}: {text: "* GenerateContentRequest.tools[{at}].function_declarations[{part}].parameters.type: " +
		"must be OBJECT, but is {value}\n"},
	{manyAnswers, ""}: {text: "* GenerateContentRequest.generation_config.{name}: {value}, " +
		"only one candidate can be specified for this model\n"},
}

// ollamaSays has the server's words for what the server itself refuses; it passes
// most conversations on to the model's template as they are.
var ollamaSays = sayings{
	{badPath, ""}:    {status: http.StatusNotFound, text: "404 page not found"},
	{badMethod, ""}:  {status: http.StatusMethodNotAllowed, text: "405 method not allowed"},
	{tooLarge, ""}:   {status: http.StatusRequestEntityTooLarge, text: "the request body is too large"},
	{badType, ""}:    {text: "json: cannot unmarshal {value} into field {name}"},
	{noModel, ""}:    {text: "model is required"},
	{noMessages, ""}: {text: "messages: at least one is required"},
	{badRole, ""}:    {text: "messages[{at}].role: \"{name}\"; allowed: system, user, assistant, tool"},
	{badArgs, ""}:    {text: "messages[{at}].tool_calls[{part}].function.arguments: {value}; allowed: an object"},
	{noCall, ""}:     {text: "messages[{at}]: a tool message without an open tool call \"{ids}\""},
	{noResult, ""}:   {text: "messages[{at}]: tool calls without a tool message: {ids}"},
	{sameID, ""}:     {text: "messages[{at}].tool_calls[{part}].id: \"{ids}\" is not unique"},
	{badSchema, ""}:  {text: "tools[{at}].function.parameters.type: \"{value}\"; allowed: \"object\""},
}
