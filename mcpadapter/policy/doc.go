// Package policy is the gate in front of the tools of an MCP server: who may
// call which tool, with which arguments, how often, and what is written down
// about it. It works with any server made with the official Go SDK and needs
// nothing else of this library.
//
// # Concept
//
// A [Gate] is one receiving middleware. It checks every tools/call against a
// table of tools, in this order, before the tool's handler is called:
//
//	authenticated   401  a bearer token over HTTP ([Gate.HTTPHandler]); local callers have an identity of their own
//	known           404  a row in the table; a tool without one does not exist (JSON-RPC code -32602)
//	mode            403  read-only, unless read-write was enabled twice
//	scope           403  all scopes of the row; "admin" satisfies all
//	arguments       400  one JSON object, at most 100 levels deep, no member twice
//	confirmation    400  the JSON boolean "confirm": true, or the user, asked through the client
//	rate            429  token buckets and budgets, per caller and per server, with a hint when to retry
//	audit           503  a call that writes has a line before it, or does not happen
//
// What a call may do can depend on its arguments: an [Action] says that
// chaos_run_experiment with dry_run only reads. Arguments that two decoders
// could read in two ways (a member twice, or twice but for its case) are
// refused, so that the handler sees what the gate has judged.
//
// All other requests (resources, prompts, completions, subscriptions, the level
// of messages) pass the same gate with rules of their own, [Request].
//
// # The smallest program
//
//	gate, err := policy.New(&policy.Options{
//		Tools: []policy.Tool{
//			{Name: "rooms.list", Capability: policy.Read, Scopes: []string{"rooms:read"}},
//			{Name: "rooms.delete", Scopes: []string{"rooms:write"}},
//		},
//		Confirm: []policy.Confirm{{Tool: "*.delete"}},
//	})
//	server.AddReceivingMiddleware(gate.Middleware()) // after all other middleware: outermost
//
// [Env] reads mode and tokens from the environment; [Gate.HTTPHandler] guards a
// server that listens; [Gate.Manifest] writes down what a running server offers.
//
// # Refusals and failures
//
// Every failure reaches the client as an error result that a model can read:
// one block of text, the JSON object {status, code, detail, hint} of [Error]. A
// handler returns ordinary errors. Problem details (RFC 9457) that a service
// behind the tool gave are kept whole ([ReadProblem], [Problem]); a deadline is
// 504, a cancellation 408, a panic 500, arguments that do not fit their schema
// 400. Only a call of an unknown tool, and a request other than tools/call that
// is refused, get a JSON-RPC error.
//
// # Audit
//
// Exactly one line of JSON at the end of a tools/call, refusals, panics and
// unknown tools included: event mcp.tool_call.completed. A call that writes has
// one before it, mcp.tool_call.started. Text from a caller is redacted
// first ([Redact]), and the configured tokens are removed in any case.
// [Gate.AuditHealth] reports lines that could not be written; package auditlog
// reads the log of a process that was killed.
//
// # What it cannot do
//
// A request that is no well-formed tools/call never becomes one: the SDK
// answers it before the gate. A panic in a goroutine that a tool started ends
// the process.
//
// # Costs
//
// A call that passes costs a table lookup, one pass over its arguments and one
// audit line, two if it writes: a few microseconds, where the SDK takes hundreds.
// Over HTTP the gate has one goroutine per session.
//
// Stability: may change.
package policy
