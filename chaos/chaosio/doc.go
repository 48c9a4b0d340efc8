// Package chaosio makes an injection point of an [io.Reader]: the body of a
// response, a file, the output of a process.
//
//	body = chaosio.NewReader(ctx, "download", body, nil) // in the program
//
//	chaos.Rule{Target: "download", Fault: fault.CutAfter(3)} // in the test
//
// # Chunks
//
// The reader is a stream of chunks, so all faults that act on
// [chaos.WrapStream] act on it: those of whole streams (slow, cut, stalled,
// doubled, reordered, malformed) and the others (delays, failures, changes, lost
// replies). A chunk is what one Read of the wrapped reader returned, a []byte
// of at most [Options.Chunk] bytes. Its size depends on the source: a file comes
// in full chunks, a network connection in whatever arrived. To inject a fault at
// a fixed number of bytes, set [Options.Exact], which fills each chunk.
//
// One reader, from its first Read to its end or its Close, is one call.
//
// # Costs
//
// Without an injector in the context the wrapped reader is used as it is. With
// one, each chunk is copied once, and reads switch to a coroutine and back
// (package iter). The coroutine ends with the stream, or by Close. So close a
// reader that was begun, or read it to its end.
package chaosio
