// Package chaoshttp breaks HTTP: on the client's side, in front of a
// transport, and on the server's, in front of a handler. It knows the APIs of
// model providers.
//
// # A client
//
// An HTTP client meets faults when its transport is an injection point
// ([NewTransport]). As everywhere in package chaos the injector comes from the
// context of the request, or is bound by [Options]; without one the transport
// is inert, so it may stay in production code.
//
//	client := &http.Client{Transport: chaoshttp.NewTransport(nil, nil)} // once, in the program
//
//	plan, err := chaos.NewPlan(42, chaos.Rule{ // in the test
//		Target: "POST api.openai.com/v1/chat/completions",
//		When:   when.First(2),
//		Fault:  chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, nil),
//	})
//	req = req.WithContext(chaos.NewContext(ctx, plan.Injector("my test", nil)))
//	resp, err := client.Do(req) // 429 Too Many Requests
//
// # Targets
//
// The name of a call is its method, host and path: "GET api.example.com/orders/7"
// ([Target]). A call of a model has the model behind a #, as
// "POST api.openai.com/v1/chat/completions#gpt-4o"; rules find it under its
// name with and without the model. "* api.openai.com/*" is everything sent to
// that host, "POST *{completions,messages}" what looks like a conversation,
// whatever the gateway, "*#gpt-4o*" a family of models, wherever it is asked.
//
// Calls are counted for each target, and paths that name an order are targets of their own:
// [Options] can fold them, and a [chaos.Rule] with a group counts them as one.
// The layer of a call of a model is [chaos.LayerLLM], else [chaos.LayerHTTP].
// The key of a call is a hash of its body, by value where that is JSON, and of
// its query, so what is drawn does not depend on the order of requests.
//
// # Faults
//
//   - No connection: [Refused], [NoSuchHost], [DNSTimeout], [TLS].
//   - It ends without an answer: [Reset], [HangUp].
//   - An answer of failure: [Status], with Retry-After in both forms; [APIError],
//     word for word as OpenAI or Anthropic writes it.
//   - An answer that takes its time: [SlowHeaders], [SlowBody].
//   - Half an answer: [CutBody], whose reader gets an error, and [ShortBody],
//     whose reader does not.
//   - An answer that is not what it says: [MalformedJSON], [HTMLPage],
//     [ErrorInOK], [Oversized], [WrongEncoding], [WrongCharset].
//   - Any fault of results on the JSON in a body: [OnBody].
//
// Those of package chaos/fault work here as well. Quotas and expiry are
// triggers: Status(429, nil) with when.After(100).
//
// A client gets what it would get of the real failure: tests provoke each over
// real sockets and compare the errors. Faults of no connection and without an
// answer are errors of the call; they match the real ones and
// [chaos.ErrInjected]. A status is an answer, so the client sees no error; to
// the injector it is one, an [*HTTPError], which its event names, and which a
// function or tool returns that is struck by the same fault.
//
// # When a call ends
//
// A fault of the body acts while the body is read, and a caller may not read
// it. So the call ends, and its event is written, when the body was read or
// closed: a change is delivered with the first byte that differs, and a cut that
// nobody came to was not. A changed status, length or type is delivered as it
// stands, and an undelivered fault changes none. All other calls end
// when the client has the header. A body that is never closed keeps its call
// under way for ever, as it keeps its connection.
//
// # Attempts
//
// Client libraries send a request again by themselves: those of OpenAI and
// Anthropic twice. Every attempt that goes over the wire is a call here, with
// [chaos.Event].Attempt; [LogicalCall] marks what is one call to the program, and
// [Count] tells the two apart.
//
// # A server, and no server at all
//
// [Handler] is the same for the side that answers: clients that know nothing of this
// package get their connection really reset. [Serve] runs a handler without
// sockets, so that client, faults and server run in a bubble of
// testing/synctest, where hours of waiting take no time.
//
// # Costs
//
// Without an injector a call costs a lookup in its context, under 10 ns. With
// one that has no rule for its target it costs about 60 ns, and with a rule
// whose trigger does not match about 120; both allocate nothing, once the path was
// seen, where no body is read. That is read, up to [Options.MaxBody], for the
// name of a model, and where a rule strikes a call or looks at more of it than its
// ordinal, or calls are recorded: one copy, and a hash that takes less time than
// json.Valid.
package chaoshttp
