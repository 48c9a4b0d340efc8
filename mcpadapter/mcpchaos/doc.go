// Package mcpchaos injects faults into the Model Context Protocol between a
// client and a server of the official Go SDK: into requests, results and the
// messages themselves. The rules are those of the injector in the context, or of
// a bound one. Without an injector nothing is changed.
//
// # Three places
//
// [Sending] and [Receiving] are middleware, for a client or a server, and see
// requests and results. [Transport] is between the SDK and the wire and sees
// messages.
//
//	client.AddSendingMiddleware(mcpchaos.Sending(nil))
//	session, err := client.Connect(ctx, mcpchaos.Transport(transport, nil), nil)
//
// # Targets
//
// An injection point is named by its place, the method and what is requested:
//
//   - mcp/tools/call/NAME, mcp/tools/list, mcp/resources/read/URI, mcp/prompts/get/NAME, mcp/METHOD: middleware
//   - mcp/send/tools/call/NAME and so on: a message that the wrapped end writes; a response has the name of its request
//   - mcp/receive/tools/call/NAME and so on: a message that it reads
//
// In a glob * crosses slashes: mcp/receive/* is every received message,
// those of connecting included. The key of a call is a hash of the tool's
// arguments, elsewhere of the parameters without _meta.
//
// # Faults
//
// Of results, for middleware: [UnsetError], [HideTool], [RemoveTool],
// [ChangeDescription]. Of messages, for a transport: [Drop], [Duplicate],
// [Corrupt], [InsertGarbage], [ChangeID], [FloodListChanged].
//
// The faults of package chaos/fault work in both places, and [Rows] lets plans in JSON
// name those of this one. In a transport a delay delays a message and all behind it, and
// an error breaks the connection. A call that gets no answer waits until its context
// ends: give it a deadline.
//
// # Costs
//
// Without an injector: one lookup in the context. With one, a transport decodes
// and encodes each message once more, about 15 µs for a message of 1 KiB.
//
// Stability: may change.
package mcpchaos
