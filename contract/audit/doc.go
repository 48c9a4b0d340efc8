// Package audit answers a question about tools: is this tool safe to call twice?
//
// A reply is lost, the agent calls again, and the customer is charged twice. [Run] finds out, without an agent:
// it calls each tool in ways that should do its work once, and compares the state that each leaves with that of
// one call.
//
//	r, err := audit.Run(ctx, &audit.Options{
//		NewWorld: func(context.Context) (*audit.World, error) {
//			bank := newBank()
//			return &audit.World{Tools: bank.Tools(), State: bank.State, Restart: bank.Restart}, nil
//		},
//		Example: map[string]json.RawMessage{"refund": json.RawMessage(`{"order":"1042"}`)},
//		Allow:   []string{"refund"},
//	}, nil)
//
// # Treatments
//
// A tool is called once; with its reply lost, and again; twice in a row; again with its arguments spelled
// otherwise; by 2, 8 and 16 callers at once; cancelled at 16 moments ([Options].Cancellations), and again;
// timed out before it is reached, and again; and again after a restart. Where it has an idempotency key these
// calls have the same one. It is then also called twice with two keys, and twice without one. "Again" is up to
// four calls, until one succeeds. A result that is an object with isError: true is a failure. A treatment that
// is not safe is made again in a fresh world: "(in 1 of 2 runs)" says that it then showed something else. The
// graver verdict counts.
//
// # Verdicts
//
// Each tool is [Safe], [SafeWithKey], [Doubles], [PartlyDone], [Wedged] or [Unknown]; it stands beside what its
// annotations claim. Safe is said only if every treatment could be made and left the state of one call. A restart
// may be left out where nothing restarts the world, and another spelling where there is none but white space. It
// is [Unknown] if there is no state, if the state changes without a call, if one call changes nothing in it and
// the tool does not claim to read only, if two fresh worlds show different states, or if the example call fails.
// It is also [Unknown] if no calls were at once or none was cancelled in the middle, as of a tool that takes less
// than 0.1 ms, or in virtual time no time. [Planned].NotTried has what was not tried.
//
// Safe means: in these treatments, as far as [World].State shows. A step of the work that the state does not
// show and that takes less than an eighth of a call may be missed; so may work that is done after
// [Options].Settle, and a window of microseconds in which two calls harm each other.
//
// # What it calls
//
// An audit writes: it is for a sandbox. [Plan] lists what would be sent, and calls nothing. [Evidence] has
// every call that was made.
//
// An audit is a [contract.Matrix] ([Matrix]), with a scenario for each tool and treatment, so run files and all
// reports work for it. A treatment takes 3 to 70 worlds. Under go test use contracttest.AuditRetries, in
// virtual time.
//
// Stability: may change.
package audit
