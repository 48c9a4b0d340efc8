// Package chaoshttp injects faults into HTTP: on the client's side before a
// transport, and on the server's side before a handler. It knows the APIs of
// model providers.
//
// # A client
//
// An HTTP client meets faults when its transport is an injection point
// ([NewTransport], [WrapClient]). As everywhere in package chaos, the injector comes from the
// context of the request, or is bound by [Options]. Without an injector the
// transport is inert, so it may stay in production code.
//
//	client := chaoshttp.WrapClient(nil) // once, in the program; or a copy of a client
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
// The name of a call is its method, host and path: "GET
// api.example.com/orders/7" ([Target]). A call of a model has the model after a
// #, as in "POST api.openai.com/v1/chat/completions#gpt-4o"; rules find it
// under its name with and without the model. Examples of patterns:
//
//   - "* api.openai.com/*": everything sent to that host.
//   - "POST *{completions,messages}": conversations, whatever the gateway.
//   - "*#gpt-4o*": a family of models, on any host.
//
// Calls are counted for each target. Paths that name an order are targets of
// their own: [Options] can fold them, and a [chaos.Rule] with a group counts
// them as one. The layer of a call of a model is [chaos.LayerLLM], of any other
// [chaos.LayerHTTP]. The key of a call is a hash of its query and of its body,
// by value where the body is JSON. So draws do not depend on the order of
// requests.
//
// # Faults
//
//   - No connection: [Refused], [NoSuchHost], [TLS].
//   - No answer: [Reset], [HangUp].
//   - An answer of failure: [Status], and [APIError], word for word as the provider
//     writes it.
//   - A slow answer: [SlowHeaders], [SlowBody]; half of one: [CutBody], whose
//     reader gets an error, and [ShortBody], whose reader does not.
//   - An answer that is not what it claims to be: [HTMLPage], [ErrorInOK],
//     [WrongEncoding]. The faults of package chaos/lies change the JSON in a body too,
//     so that it is wrong, or no JSON.
//   - Events that come late: [SlowFirstEvent], [SlowEvents], [HangStream]; a stream
//     that ends early: [CutEvent], [CutStream], [DropTerminator], [ErrorEvent]; single
//     events: [MalformEvent], [DuplicateEvent], [SwapEvents]. They work on any stream of
//     server-sent events, and of lines of JSON. Those with a position count the events before it, or take
//     [Anywhere].
//   - What a model says: [EmptyCompletion], [CutCompletion], [FilterCompletion],
//     [RefuseCompletion], [GarbleCompletion], [DriftCompletion], [SpoilCompletion]; its tool
//     calls: [MalformToolCall], [StripToolCalls], [HallucinateToolCall], [WrongArgument],
//     [MissingArgument]. They work on OpenAI's chat/completions and responses, on
//     Anthropic's messages, on Gemini's answers and on Ollama's, streamed or not, whichever
//     it is. Another body passes untouched, with a note in the event.
//
// Those of package chaos/fault work here as well. Quotas and expiry are
// triggers: Status(429, nil) with when.After(100).
//
// A client gets what it would get of the real failure, and the error matches
// [chaos.ErrInjected] too. A status is an answer, so the client sees no error; faults and
// events see an [*HTTPError], which a function or tool returns instead.
//
// What a caller gets of a completion does not depend on how the provider split its
// stream, nor on the form. Parts of a stream are passed on as they come, but arguments
// that are changed as a whole, and JSON whose keys are renamed, wait for their end. What
// is not changed keeps its order, its numbers and its unknown members. Changes have
// paths: "$.choices[0].message.content" in a document,
// "$[3].choices[0].delta.content" in the fourth event of a stream. An event of more
// than 1 MiB and a completion of more than 8 MiB pass untouched.
//
// # When a call ends
//
// A fault of the body acts while the body is read. So such a call ends, and its
// event is written, when the body was read or closed; all others end when the
// client has the header. A change is delivered with the first byte that differs. A
// changed status, length or type is delivered without reading. A body that is
// never closed keeps its call open for ever, as it keeps its connection.
//
// Client libraries send a request again by themselves. Every attempt that goes
// over the wire is a call here, with [chaos.Event].Attempt.
//
// # A server, and no server at all
//
// [Handler] is the same for the side that answers. [InProcess] runs a handler without
// sockets, so that client, faults and server run in a bubble of testing/synctest, where
// hours of waiting take no time. [WithInjector] puts an injector into the contexts of
// requests that come over a wire. A handler that plays the model providers is in package
// modeltest. A real server is reached from such a bubble by [PerWorld].
//
// # Costs
//
// Without an injector a call costs a lookup in its context, under 10 ns. With
// one that has no rule for its target it costs about 60 ns, and with a rule
// whose trigger does not match about 120. A body is read, up to 4 MiB, for the name of
// a model, where a fault is injected, where a trigger looks at more of a call than its
// ordinal, and where calls are recorded. That costs one copy and a hash.
//
// Stability: stable.
package chaoshttp
