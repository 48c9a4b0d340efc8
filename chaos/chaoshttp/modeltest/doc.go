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
// # Turns
//
// An answer is a function of the request. The turn is one more than the number of
// assistant messages in it, so a [Script] needs no state: the client may send a
// request again, and conversations may run at the same time. The streamed answer has
// the same content, identifiers and usage as the other one. Only OpenAI's responses are
// remembered, for previous_response_id. A [Func] sees the whole [Request], and may hand
// over to several scripts.
//
// # What it refuses
//
// A request that the provider would refuse, such as a tool's result without its call,
// gets the provider's form of an error; docs/http.md lists them. Keys, names of models,
// limits of length, tool_choice and response formats are not checked.
//
// Where the test's own script does not fit, the client gets status 400 with an error
// that names the turn, and the test fails at its end ([New], [Model.Err]). Under faults
// an agent may take another way than the script: use a Func there, or give New nil
// instead of the test and ask Err.
//
// Stability: may change.
package modeltest
