package chaos

import (
	"encoding/json"
	"time"
)

// An Event is what happened to one call. Every call that a rule was injected into
// leaves one; with [InjectorOptions.RecordAll] every call does.
type Event struct {
	Cell   string `json:"cell,omitempty"`
	Lane   string `json:"lane,omitempty"`
	Target string `json:"target"`
	// Alias is another name by which rules match the point: see [WrapOptions]. It is
	// not part of the JSON.
	Alias string `json:"-"`
	// Call numbers the calls of the injector as they begin, with gaps; 0 for one
	// that is only an injected error. It is not part of the JSON.
	Call uint64 `json:"-"`
	// Layer is that of the injection point: tool in a registry or a dispatch
	// function, stream for a stream, what the options of the point state, else
	// point. It is empty for [Injector.InjectNow].
	Layer Layer `json:"layer,omitempty"`
	// Caller is the target of the enclosing injection point, known from the context;
	// empty at the top. Without RecordAll only calls with an injection enclose
	// others.
	Caller     string `json:"caller,omitempty"`
	Key        uint64 `json:"key,string"`
	Occurrence uint64 `json:"occurrence,string"`
	Ordinal    uint64 `json:"ordinal,string"`
	Turn       int    `json:"turn,omitempty"`
	// Start and End are times since the injector was armed. End is never before
	// Start. A call under way when [Injector.Arm] starts the clock anew counts from
	// the former start; it took no time if the new clock shows less.
	Start time.Duration `json:"startNs"`
	End   time.Duration `json:"endNs"`
	// Attempt is 1 plus the number of directly preceding failed calls of the same
	// lane, caller, target and key, as it was when the call began. Calls that were
	// still under way then do not count. [WithAttempt] overrides it.
	Attempt int `json:"attempt"`
	// Rule and Fault (its kind) name the rule that decided what the caller got;
	// empty if no rule was injected. If several rules were delivered, it is the last
	// of them in the order of their phases, and Also names the others.
	Rule  string   `json:"rule,omitempty"`
	Fault string   `json:"fault,omitempty"`
	Also  []string `json:"also,omitempty"`
	// Idle names other rules that were injected without effect: a change that changed
	// nothing, that another one undid or replaced, or that did not reach the caller.
	Idle []string `json:"idle,omitempty"`
	// Masked names rules that matched, but another one decided the call, or their turn
	// did not come: the call ended during a delay, or the injector was disarmed then.
	Masked []string `json:"masked,omitempty"`
	// HeldBack names rules that matched and were not injected: their limit, their
	// cool-down or [Safeguards] held them back. Note names the safeguard. Their
	// faults did not see the call.
	HeldBack []string `json:"heldBack,omitempty"`
	// Asked is the delay that faults asked for, Spent the time they waited.
	Asked   time.Duration `json:"askedNs,omitempty"`
	Spent   time.Duration `json:"spentNs,omitempty"`
	Outcome Outcome       `json:"outcome"`
	// Delivered reports whether a fault was delivered, which means that
	//   - the caller got another value, item, error or panic than the next stage
	//     further in returned;
	//   - the caller got it later by the fault's own wait; or
	//   - the callee was reached another number of times or with other arguments.
	//
	// An undelivered fault changed nothing.
	//
	// An error that a fault returns in place of a result always counts. Of several
	// changes of one value those count that the caller sees in the end. A place that
	// holds what the callee returned counts for none; a place that was changed twice
	// counts for the last. The places of a document are its members and elements,
	// and those of a string its characters; another value is one place.
	//
	// Each item of a stream is judged when the consumer gets it; one that a fault made
	// always counts. If values cannot be compared, what the fault declared
	// counts, and Note says so.
	Delivered bool `json:"delivered"`
	// Effect is what the real callee did: none if it was not reached, what the tool
	// declares (see [Tool]) if it succeeded, else unknown. It is also unknown for a
	// call that was not reached yet and may be executed later.
	Effect Effect `json:"effect"`
	// Err is the text of the error that the caller got; empty for none.
	Err string `json:"err,omitempty"`
	// Note explains why a fault could not be delivered or was held back, and which
	// declarations were taken unchecked.
	Note    string   `json:"note,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	// Args and Result are the call's values as JSON, with
	// [InjectorOptions.KeepValues]. A value that has no JSON is left out, and Note
	// says so. A []byte is kept as it is if it is JSON, as a string if it is other
	// UTF-8, else in base64, as encoding/json writes it.
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
