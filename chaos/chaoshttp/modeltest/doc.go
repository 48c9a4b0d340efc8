// Package modeltest is a model provider for tests: it answers the clients of
// OpenAI (chat completions and responses), Anthropic, Gemini and Ollama from a
// short script or a Go function, streamed or not.
//
//	model := modeltest.New(t, modeltest.Script(
//		modeltest.Answer{Calls: []modeltest.Call{{Name: "orders_status", Args: `{"order_id":1042}`}}},
//		modeltest.Answer{After: "shipped", Text: "Order 1042 was shipped."},
//	))
//	client := openai.NewClient(
//		option.WithAPIKey("none"), option.WithBaseURL("https://api.openai.example/v1"),
//		option.WithHTTPClient(&http.Client{Transport: model}),
//	)
//
// On the first turn the model calls a tool. Once the tool's result, which contains
// "shipped", is in the conversation, it answers with the text. The same script
// serves the other providers: the path of the request says which form is spoken.
//
// # Where it stands
//
// A [Model] is an [http.RoundTripper]: as the transport of a client it answers
// without a network, so that tests run in virtual time. With faults in front it is
// the base: chaoshttp.NewTransport(model, nil). It is an [http.Handler] too, for
// httptest.NewServer, for agents in another process, and for chaoshttp.InProcess,
// where a stream can be read while it is written.
//
//	form of the request                          API
//	POST …/chat/completions                      chat
//	POST …/responses                             responses
//	POST …/v1/messages                           anthropic
//	POST …/models/NAME:generateContent           gemini (also :streamGenerateContent)
//	POST …/api/chat                              ollama
//
// # What is a function of what
//
// An answer is a function of the request. The turn is one more than the number of
// assistant messages in it, so a [Script] needs no state: the client may send a
// request again, and conversations may run at the same time. Identifiers are
// derived from the conversation and the answer, times from the turn, and the usage
// from the number of characters unless the answer states it. The streamed answer
// has the same content, identifiers and usage as the other one.
//
// Only OpenAI's responses are remembered, for previous_response_id, unless the
// request has store false.
//
// A [Func] sees the whole [Request], so it may answer by the prompt, by the tool's
// result, or by what is random in its cell. It may hand over to several scripts.
//
// # What it refuses
//
// A request that the provider would refuse gets the provider's status and form of an
// error, for instance a tool's result without its call, or Anthropic's missing max_tokens.
// The message names the member and what is allowed, in the same words for every provider.
// Ollama's server passes most of these on to the model; here it refuses them too.
//
// Not checked: keys and version headers, the names of models, limits of length,
// arguments against schemas, tool_choice, response formats. More than one answer
// to a request (n, candidateCount) is refused, and so are OpenAI's stored
// conversations and item references.
//
// # When the script does not fit
//
// A script at its end, an After that did not come, an error of a [Func], a call of
// a tool that the request does not offer: the client gets status 400 with an error
// that names the turn, which no client tries again, and the test fails at its end
// ([New], [Model.Err]). Under faults an agent may take another way than the script.
// There use a Func that answers what it is asked, or give New nil instead of the
// test and ask Err. Answers that are cut, refused or empty are faults of chaoshttp.
//
// Stability: may change.
package modeltest
