package chaos

import (
	"encoding/json"
	"time"
)

// An Event is what happened to one call. Every call that a rule struck leaves
// one; with [InjectorOptions.RecordAll] every call does.
type Event struct {
	Cell   string `json:"cell,omitempty"`
	Lane   string `json:"lane,omitempty"`
	Target string `json:"target"`
	// Call numbers the calls of the injector as they begin, with gaps; 0 for one
	// that is only an injected error. It is not part of the JSON.
	Call uint64 `json:"-"`
	// Layer is that of the injection point: tool for those of a registry or a
	// dispatch function, stream, what its options say, else point; empty for
	// [Injector.InjectNow].
	Layer Layer `json:"layer,omitempty"`
	// Caller is the target of the enclosing injection point, known from the
	// context; empty at the top. Without recording only struck calls enclose.
	Caller     string `json:"caller,omitempty"`
	Key        uint64 `json:"key,string"`
	Occurrence uint64 `json:"occurrence,string"`
	Ordinal    uint64 `json:"ordinal,string"`
	Turn       int    `json:"turn,omitempty"`
	// Start and End are times since the injector was armed. End is never before
	// Start: a call under way when [Injector.Arm] starts the clock anew counts
	// from the former start, and took no time where the new clock shows less.
	Start time.Duration `json:"startNs"`
	End   time.Duration `json:"endNs"`
	// Attempt is 1 plus the number of directly preceding failed calls of the
	// same lane, caller, target and key, as it was when the call began: calls
	// that were still under way then do not count. [WithAttempt] overrides it.
	Attempt int `json:"attempt"`
	// Rule and Fault (its kind) name the rule that decided what the caller
	// got; empty when no rule struck. Where several rules acted and were
	// delivered, it is the last of them in the order of their phases, and Also
	// names the others.
	Rule  string   `json:"rule,omitempty"`
	Fault string   `json:"fault,omitempty"`
	Also  []string `json:"also,omitempty"`
	// Idle names rules that acted besides, but without effect: a change that
	// changed nothing, that another one undid or replaced, or that nobody saw.
	Idle []string `json:"idle,omitempty"`
	// Masked names rules that were drawn but hidden by the one that decided, or
	// whose turn did not come: a delay ended with the call, or the injector was
	// disarmed during one.
	Masked []string `json:"masked,omitempty"`
	// HeldBack names rules that matched and were not injected: their limit, their
	// cool-down or [Safeguards] held them back. Note names the rail. Their faults were
	// given nothing of the call.
	HeldBack []string `json:"heldBack,omitempty"`
	// Asked is the delay that faults asked for, Spent the time they waited.
	Asked   time.Duration `json:"askedNs,omitempty"`
	Spent   time.Duration `json:"spentNs,omitempty"`
	Outcome Outcome       `json:"outcome"`
	// Delivered says that a fault showed outside of it: the caller got another
	// value, item, error or panic than the next stage further in handed over, or
	// got it later by the fault's own wait, or the callee was reached another
	// number of times or with other arguments. An undelivered fault changed nothing.
	//
	// An error that a fault puts in place counts always. Of several changes of
	// one value those count that are seen in what the caller gets at last: what
	// one had put in a place, another may have changed again, and where the place
	// holds what the callee returned, none counts. The places of a document are
	// its members and elements, and of a string its characters; another value is
	// one place. Of a stream each item is judged when that item is handed over,
	// and one that a fault made counts always. Where values cannot be compared,
	// what the fault declared counts, and Note says so.
	Delivered bool `json:"delivered"`
	// Effect is what the real callee did: none when it was not reached, what
	// the tool declares (see [Tool]) when it succeeded, else unknown. Of a call
	// that was not reached yet and may be executed later it is unknown.
	Effect Effect `json:"effect"`
	// Err is the text of the error that the caller got; empty for none.
	Err string `json:"err,omitempty"`
	// Note tells of a fault that could not be delivered, and why, and of one that
	// had to be taken at its word.
	Note    string   `json:"note,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	// Args and Result are the call's values as JSON, with
	// [InjectorOptions.KeepValues]; a value that has no JSON is left out, and Note
	// says so. A []byte is kept as it is where it is JSON, as a string where it
	// is other UTF-8, and in base64, as encoding/json writes it, where it is neither.
	Args   json.RawMessage `json:"args,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// An Outcome is how a call ended for its caller.
type Outcome string

// The outcomes.
const (
	OutcomeOK       Outcome = "ok"       // it returned no error
	OutcomeFailed   Outcome = "failed"   // the callee returned an error
	OutcomeInjected Outcome = "injected" // a fault returned an error, on this call or on one that the callee made and passed on
	OutcomePanicked Outcome = "panicked" // it panicked or ended its goroutine: callee or fault, or the consumer of a stream
)
