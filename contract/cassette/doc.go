// Package cassette records the HTTP exchanges of an agent once, and plays them in every later run: for nothing, in
// virtual time, and each time the same.
//
//	// SHAKEDOWN_CASSETTE=auto records what is missing
//	tape, err := cassette.Open("testdata/refund.cassette.json", nil)
//	// in NewWorld, once per cell:
//	model := tape.Player()
//	client := &http.Client{Transport: chaoshttp.NewTransport(model, nil)}
//	return &contract.World{Agent: agent(client), Tools: tools, Err: model.Err}, nil
//	// when the matrix has run:
//	err = tape.Close()
//
// A [Player] is a transport, so faults go in front of it, and what is on the tape is what the provider answered. A
// request that the tape has no answer to is a [*MissError]: it says which recorded request is the nearest and where the
// two differ. Given as [contract.World.Err], it makes the cell inconclusive, whatever the agent made of the error.
//
// # Modes
//
//	mode     a request that is on the tape           any other request
//	replay   is played                               is a *MissError; there is no network
//	auto     is played                               goes to the network, and is recorded
//	record   goes to the network, and is recorded    the same
//	off      goes to the network                     the same
//
// The mode is [Options.Mode], else the environment variable SHAKEDOWN_CASSETTE, else replay. In record mode the
// recorded exchanges replace those of the cells that ran; the other cells keep theirs.
//
// # Match
//
// Requests are equal if their method, host, path, query and body are: the body by value, after Redact, [Options.Ignore]
// and [Options.Mask]. The scheme and the headers do not count. Of the equal requests on the tape, those of the same
// cell and lane answer, else those of the cell, else those of the first cell on the tape. The n-th request of a player
// in its lane gets the n-th answer, and past the last one the last again: a reply that a fault lost makes the same
// request come twice.
//
// # Recording
//
// [Open] has to be called outside of the cells' bubbles: live calls are made by goroutines that it starts and that
// [Cassette.Close] waits for. The clock of a bubble stands still meanwhile. All invariants of a scenario and trial
// share one live call for equal requests. The answers that come are handed on piece by piece.
//
// Some answers pass and are not recorded; Close reports them: status 408, 409, 425, 429 and 5xx, failed connections,
// and bodies that were not read to their end. Failures belong in the plan, where they are repeatable.
//
// Stability: may change.
package cassette
