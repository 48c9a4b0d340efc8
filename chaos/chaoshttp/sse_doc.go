// # Event streams
//
// Streams of server-sent events are split as their standard says, and joined
// again without losing a byte of what a fault leaves. These faults know nothing
// of what events mean, so they work on any stream:
//
//   - [SlowFirstEvent], [SlowEvents] and [HangStream] take time.
//   - [CutEvent], [CutStream], [DropTerminator] and [ErrorEvent] end a stream too
//     early.
//   - [MalformEvent], [DuplicateEvent] and [SwapEvents] change single events.
//
// Those with a position count the events before it, or take [Anywhere].
//
//	chaos.Rule{Target: "POST api.openai.com/*", Fault: chaoshttp.CutStream(chaoshttp.Anywhere)}
//
// # What a model says
//
// These faults change completions of OpenAI's chat/completions and responses
// and of Anthropic's messages, streamed or not:
//
//   - The whole: [EmptyCompletion], [CutCompletion], [FilterCompletion],
//     [RefuseCompletion], [GarbleCompletion], [DriftCompletion] and
//     [SpoilCompletion].
//   - Tool calls: [MalformToolCall], [StripToolCalls], [HallucinateToolCall],
//     [WrongArgument] and [MissingArgument].
//
// One value works on every form: it looks at the content type and at the body.
// A body that is none of these passes untouched, with a note in the event.
//
//	chaos.Rule{Target: "POST *#gpt-4o*", When: when.Prob(0.1), Fault: chaoshttp.HallucinateToolCall("")}
//
// What a caller gets in the end does not depend on how the provider split its
// stream, nor on the form: tests compare all six forms. Parts of a stream are
// passed on as they come. Only arguments that are changed as a whole, and JSON
// whose keys are renamed, wait for their end. What is not changed keeps its
// order, its numbers and its unknown members.
//
// Each change in an event has a path: "$.choices[0].message.content" in a
// document, "$[3].choices[0].delta.content" in the fourth event of a stream. A
// fault is delivered once the caller has read what was changed, and not if it
// closed the body before.
//
// docs/llm-faults.md shows how the clients of both providers react to each
// fault.
//
// An event is held in memory up to 1 MiB; a longer one passes untouched. A
// document that is not streamed is held up to 8 MiB.
package chaoshttp
