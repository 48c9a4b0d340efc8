// Package chaosio makes an injection point of an [io.Reader]: the body of a
// response, a file, the output of a process.
//
//	body = chaosio.NewReader(ctx, "download", body, nil) // in the program
//
//	chaos.Rule{Target: "download", Fault: fault.CutAfter(3)} // in the test
//
// # Chunks
//
// The reader is a stream of chunks, and so meets all faults that
// [chaos.WrapStream] does: those of whole streams (slow, cut, stalled, doubled,
// reordered, malformed) and the others (delays, failures, changes, lost
// replies). A chunk is what one Read of the wrapped reader returned, at most
// [Options.Chunk] bytes, as a []byte: how large chunks are depends on the
// source, as on a real connection. A file comes in full chunks; a network
// connection in whatever arrived. To strike at a fixed number of bytes whatever
// the source, set [Options.Exact], which fills each chunk before it goes on.
//
// One reader, from its first Read to its end or its Close, is one call.
//
// # Costs
//
// Without an injector in the context the wrapped reader is used as it is. Under
// one, each chunk is copied once, and reads cross over to a coroutine and back
// (package iter), which Close or the end of the stream ends: a reader that was
// begun must be closed or read to its end, as with any [io.ReadCloser].
package chaosio
