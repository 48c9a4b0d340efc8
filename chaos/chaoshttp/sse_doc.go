// # Event streams
//
// Streams of server-sent events are taken apart as their standard says, and put
// together again without losing a byte of what a fault leaves. [SlowFirstEvent],
// [SlowEvents] and [HangStream] take time; [CutEvent], [CutStream],
// [DropTerminator] and [ErrorEvent] end a stream too early; [MalformEvent],
// [DuplicateEvent] and [SwapEvents] spoil single events. They know nothing of
// what the events mean, so they serve any stream. Those that have a place count
// the events before it, or take [Anywhere].
//
//	chaos.Rule{Target: "POST api.openai.com/*", Fault: chaoshttp.CutStream(chaoshttp.Anywhere)}
//
// # What a model says
//
// Completions of OpenAI's chat/completions and responses and of Anthropic's
// messages, streamed or not, are changed by [EmptyCompletion], [CutCompletion],
// [FilterCompletion], [RefuseCompletion], [GarbleCompletion], [DriftCompletion]
// and [SpoilCompletion]; their tool calls by [MalformToolCall], [StripToolCalls],
// [HallucinateToolCall], [WrongArgument] and [MissingArgument]. One value serves
// every form: it looks at the content type and at the body, and one that is
// none of these passes untouched, with a note in the event.
//
//	chaos.Rule{Target: "POST *#gpt-4o*", When: when.Prob(0.1), Fault: chaoshttp.HallucinateToolCall("")}
//
// What a caller is told in the end does not depend on how the provider split
// its stream, nor on the form: tests hold the six forms to each other. Parts of
// a stream are passed on as they come; only arguments that are changed as a
// whole, and JSON whose keys are renamed, wait for their end. What is not
// changed keeps its order, its numbers and its unknown members.
//
// The changes in an event have a path each: "$.choices[0].message.content" in a
// document, "$[3].choices[0].delta.content" in the fourth event of a stream. A
// fault is delivered once the caller has read what was changed: one that closes
// the body before has not seen it.
//
// docs/llm-faults.md shows what the clients of both providers make of each fault.
//
// An event is held in memory, up to 1 MiB, a longer one passes untouched; a
// document that is not streamed is held too, up to 8 MiB.
package chaoshttp
