// Package mcpchaos breaks the Model Context Protocol between a client and a
// server of the official Go SDK: what is asked, what is answered, and the
// messages themselves. Rules decide, as everywhere: an injector of the context,
// or one that is bound. Without either all of it is inert.
//
// # Three places
//
// [Sending] and [Receiving] are middleware, for a client or a server, and see
// requests and results. [Transport] stands between the SDK and the wire and sees messages.
//
//	client.AddSendingMiddleware(mcpchaos.Sending(nil))
//	session, err := client.Connect(ctx, mcpchaos.Transport(transport, nil), nil)
//
// # Targets
//
// An injection point is named by where it is, the method and what is asked for:
//
//   - mcp/tools/call/NAME, mcp/tools/list, mcp/resources/read/URI, mcp/prompts/get/NAME, mcp/METHOD: middleware
//   - mcp/send/tools/call/NAME and so on: a message that the wrapped end writes; a response has the name of its request
//   - mcp/receive/tools/call/NAME and so on: a message that it reads
//
// In a glob * crosses slashes: mcp/receive/* is every message that arrives,
// those of connecting included. The key of a call is a hash of the tool's
// arguments, elsewhere of the parameters without _meta.
//
// # Faults
//
// Of results, for middleware: [UnsetError], [HideTool], [RemoveTool],
// [ChangeDescription]. Of messages, for a transport: [Drop], [Duplicate],
// [Overtake], [Corrupt], [InsertGarbage], [ChangeID], [Oversize], [FloodListChanged], [Cut]. Those of package
// chaos/fault work in both places: a delay holds up a message and all behind it,
// an error breaks the connection, as it does for the SDK. A call that gets no
// answer waits until its context ends: give it a deadline.
//
// # Costs
//
// Without an injector: a look at the context. With one, a transport reads and
// writes each message as JSON once more, some 15 µs for one of a KiB.
package mcpchaos
