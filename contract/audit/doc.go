// Package audit answers a question about tools: is this tool safe to call twice?
//
// A reply is lost, the agent calls again, and the customer is charged twice. [Run] finds out, without an agent:
// it calls each tool in ways that should do its work once, and compares the state that each leaves with that
// of one call.
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
// A tool is called once; with its reply lost, and again; twice in a row; twice at once; cancelled at eight moments of
// the time that one call takes ([Options].Cancellations), and again; timed out before it is reached, and again; and
// again after a restart. Where the schema has an idempotency key these calls have the same one. The tool is then also
// called twice with two keys, and twice without one. "Again" is up to four calls, until one succeeds. A result that is
// an object with isError: true is a failure.
//
// # Verdicts
//
// Each tool is [Safe], [SafeWithKey], [Doubles], [PartlyDone], [Wedged] or [Unknown]; it stands beside what its
// annotations claim. Safe is said only if every treatment that was tried left the state of one call. It is [Unknown]
// if there is no state, if one call changes nothing in it and the tool does not claim to read only, if two fresh
// worlds show different states, or if the example call fails. [Planned].NotTried of the result has what was not tried:
// a tool that takes no time, as fakes do in virtual time, cannot be cancelled in the middle, and two calls of it are
// not at once.
//
// Safe means: in these treatments, as far as [World].State shows. A part of the work that takes less than an eighth
// of the time of a call may be missed by the cancellations, and so may work that is done after [Options].Settle. In
// real time two calls at once need not overlap.
//
// # What it calls
//
// An audit writes: it is for a sandbox. [Plan] lists what would be sent, and calls nothing. Nothing is called without
// [Options].Allow or Sandbox, and a tool that claims to be destructive only if Allow names it. [Evidence] has every
// call that was made.
//
// # As a matrix
//
// An audit is a [contract.Matrix] ([Matrix]), with a scenario for each tool and treatment, so run files and all
// reports work for it. A treatment takes three worlds, and a tool up to sixteen treatments. Under go test use
// contracttest.AuditRetries, in virtual time.
//
// Stability: may change.
package audit
