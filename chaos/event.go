package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// An Event is what happened to one call. Every call that a rule was injected into
// leaves one, when it ends or when [Injector.End] finds it open; with
// [InjectorOptions.RecordAll] every call does.
type Event struct {
	Cell   string `json:"cell,omitempty"`
	Lane   string `json:"lane,omitempty"`
	Target string `json:"target"`
	Alias  string `json:"-"` // another name by which rules match the point: see [WrapOptions]
	// Call numbers the calls of the injector as they begin, with gaps; 0 for one
	// that is only an injected error.
	Call  uint64 `json:"-"`
	Layer Layer  `json:"layer,omitempty"` // of the injection point; empty for [Injector.InjectNow]
	// Caller is the target of the enclosing injection point; empty at the top. Without
	// RecordAll only calls with an injection enclose others.
	Caller     string `json:"caller,omitempty"`
	Key        uint64 `json:"key,string"`
	Occurrence uint64 `json:"occurrence,string"`
	Ordinal    uint64 `json:"ordinal,string"`
	Turn       int    `json:"turn,omitempty"`
	// Start and End are times since the injector was armed. End is never before Start,
	// also if [Injector.Arm] starts the clock anew during the call.
	Start time.Duration `json:"startNs"`
	End   time.Duration `json:"endNs"`
	// Deadline is when the context of the call was to end by itself, a time as Start is; it
	// may have passed. 0: it had no deadline. ContextEnded: it had ended when the call began.
	Deadline     time.Duration `json:"deadlineNs,omitempty"`
	ContextEnded bool          `json:"contextEnded,omitempty"`
	// Attempt is 1 plus the number of directly preceding failed calls of the same
	// lane, caller, target and key that had ended when the call began, or that of
	// [WithAttempt].
	Attempt       int  `json:"attempt"`
	AttemptStated bool `json:"-"` // Attempt is that of [WithAttempt]
	// Habit names the middleware that made the call of its own; empty: the agent made it. See [WithHabit].
	Habit string `json:"habit,omitempty"`
	// Rule and Fault (its kind) name the rule that decided what the caller got; empty
	// if none was injected. Of several that were delivered it is the last in the order
	// of their phases, and Also names the others.
	Rule  string `json:"rule,omitempty"`
	Fault string `json:"fault,omitempty"`
	// Pattern is the rule's target, and Class the fault's, if it declares one. No file has them.
	Pattern string   `json:"-"`
	Class   Class    `json:"-"`
	Also    []string `json:"also,omitempty"`
	// Idle names other rules that were injected without effect.
	Idle []string `json:"idle,omitempty"`
	// Masked names rules that matched, but another one decided the call, or their turn
	// did not come.
	Masked []string `json:"masked,omitempty"`
	// HeldBack names rules that matched and were not injected, because of their limit,
	// their cool-down or [Safeguards]; Note names the safeguard.
	HeldBack []string `json:"heldBack,omitempty"`
	// Asked is the delay that faults asked for, Spent the time they waited.
	Asked   time.Duration `json:"askedNs,omitempty"`
	Spent   time.Duration `json:"spentNs,omitempty"`
	Outcome Outcome       `json:"outcome"`
	// Delivered reports whether a fault was delivered: the caller got another value, item,
	// error or panic than the next stage further in returned, or got it later by the fault's
	// own wait; the callee was reached another number of times or with other arguments; or
	// the fault held the call when the cell ended ([Injector.End]).
	//
	// Of several changes of one value those count that the caller sees in the end, place
	// by place (members, elements, characters); a place that was changed twice counts for
	// the last. An item of a stream is judged when the consumer gets it. If values cannot
	// be compared, what the fault declared counts, and Note says so.
	Delivered bool `json:"delivered"`
	// Effect is what the real callee did: none if it was not reached, what the tool
	// declares (see [Tool]) if it succeeded, else, or if it may be reached later, unknown.
	Effect Effect `json:"effect"`
	Err    string `json:"err,omitempty"` // the text of the error that the caller got
	// Note explains why a fault could not be delivered or was held back, and which
	// declarations were taken unchecked.
	Note    string   `json:"note,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	// Args and Result are the call's values as JSON, with [InjectorOptions.KeepValues].
	// A value without JSON is left out, and Note says so. A []byte is kept as it is if it
	// is JSON, as a string if it is other UTF-8, else in base64.
	Args   json.RawMessage `json:"args,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	// Exchange is what a call of a model said, with [InjectorOptions.KeepExchanges], so
	// far as it was read when this event was made; nil: it was not kept.
	Exchange *Exchange `json:"exchange,omitempty"`
}

// LogValue is the event for a log, as a group: what happened to the call, without its values and its error,
// which may hold secrets. Durations are as [slog.Duration] has them.
func (e Event) LogValue() slog.Value {
	all := []slog.Attr{slog.String("target", e.Target), slog.String("outcome", string(e.Outcome)),
		slog.Duration("took", e.End-e.Start), slog.Int("attempt", e.Attempt), slog.Bool("delivered", e.Delivered)}
	for _, own := range []struct{ name, value string }{
		{"cell", e.Cell}, {"lane", e.Lane}, {"layer", string(e.Layer)}, {"rule", e.Rule}, {"fault", e.Fault},
		{"class", string(e.Class)}, {"effect", string(e.Effect)}, {"heldBack", strings.Join(e.HeldBack, ", ")}, {"note", e.Note},
	} {
		if own.value != "" {
			all = append(all, slog.String(own.name, own.value))
		}
	}
	if e.Asked > 0 {
		all = append(all, slog.Duration("asked", e.Asked), slog.Duration("spent", e.Spent))
	}
	return slog.GroupValue(all...)
}

// An Exchange is the bodies of a request to a model and of its answer, as text for
// people, redacted and bounded by package chaoshttp. Of the invariants those alone look at it
// that ask whether an answer came to its end.
type Exchange struct {
	Request           string `json:"request,omitempty"`           // as the caller sent it
	RequestTruncated  bool   `json:"requestTruncated,omitempty"`  // Request lacks its end
	Response          string `json:"response,omitempty"`          // what the caller has read of the answer
	ResponseTruncated bool   `json:"responseTruncated,omitempty"` // the caller has read more than Response
}

// An Outcome is how a call ended for its caller.
type Outcome string

// The outcomes.
const (
	OutcomeOK     Outcome = "ok"     // it returned no error
	OutcomeFailed Outcome = "failed" // the callee returned an error
	// a fault returned an error, on this call or on one that the callee made and passed on
	OutcomeInjected Outcome = "injected"
	// it panicked or ended its goroutine: callee or fault, or the consumer of a stream
	OutcomePanicked Outcome = "panicked"
	// it had not ended when the cell did: see [Injector.End]
	OutcomeOpen Outcome = "open"
)

// record is an event as the log keeps it: half of the size, without texts that must be made.
type record struct {
	site       *site
	main       *liveRule // the rule that decided; nil: none was injected
	more       *details
	values     *values
	caller     string
	layer      Layer
	err        error
	key        uint64
	occurrence uint64
	ordinal    uint64
	begun      uint64
	ended      uint64 // the number of the last call that had begun by its end
	start, end time.Duration
	deadline   time.Duration // of the context; 0: it has none
	turn       int
	attempt    int
	stated     bool // the caller said which attempt it is
	outcome    Outcome
	effect     Effect
	delivered  bool
	late       bool // the context had ended when the call began
}

type details struct {
	also, idle, masked, held []string
	asked, spent             time.Duration
	changes                  []Change
	note                     string
	habit                    string
}

type values struct {
	args, result json.RawMessage
	exchange     func() *Exchange // nil: there is none
}

// maxNote bounds the notes of one call, in bytes: streams are unbounded, and a fault
// may add a note per item.
const maxNote = 4096

// note adds a sentence, unless it is there already.
func (r *record) note(text string) {
	if r.more == nil {
		r.more = &details{}
	}
	r.more.addNote(text)
}

func (m *details) addNote(text string) {
	switch {
	case m.note == "":
		m.note = text
	case len(m.note)+len(text) <= maxNote && !strings.Contains(m.note, text):
		m.note += "; " + text
	}
}

// begins notes what the context of the call says of its end.
func (r *record) begins(ctx context.Context) {
	if ctx == nil {
		return
	}
	if deadline, ok := ctx.Deadline(); ok {
		in := r.site.in
		r.deadline = cmp.Or(deadline.Sub(in.born)-time.Duration(in.armed.Load()), 1) // 0 means none
	}
	r.late = ctx.Err() != nil
}

// ends notes that the call ends. Its time is 0 if Arm set the clock back meanwhile.
func (r *record) ends(err error) { r.endsAt(r.site.in.Elapsed(), err) }

func (r *record) endsAt(elapsed time.Duration, err error) {
	r.end, r.err = max(r.start, elapsed), err
	r.ended = r.site.in.begun.Load()
}

func (r *record) event() Event {
	e := Event{
		Cell: r.site.in.cell, Lane: r.site.lane, Target: r.site.target, Alias: r.site.alias,
		Layer: r.layer, Caller: r.caller,
		Key: r.key, Occurrence: r.occurrence, Ordinal: r.ordinal, Turn: r.turn,
		Start: r.start, End: r.end, Deadline: r.deadline, ContextEnded: r.late,
		Attempt: r.attempt, AttemptStated: r.stated,
		Outcome: r.outcome, Delivered: r.delivered, Effect: r.effect,
	}
	if r.begun%2 == 0 { // else it is only an injected error
		e.Call = r.begun
	}
	if r.main != nil {
		e.Rule, e.Fault, e.Pattern, e.Class = r.main.Name, r.main.kind, r.main.Target, r.main.class
	}
	if r.err != nil {
		e.Err = usercode.ErrorText(r.err)
	}
	if m := r.more; m != nil {
		e.Also, e.Idle, e.Masked, e.Asked, e.Spent = m.also, m.idle, m.masked, m.asked, m.spent
		e.HeldBack, e.Note, e.Habit = m.held, m.note, m.habit
		for _, ch := range m.changes {
			e.Changes = append(e.Changes, Change{ch.Path, asJSON(ch.Before), asJSON(ch.After)})
		}
	}
	if v := r.values; v != nil {
		e.Args, e.Result = asJSON(v.args), asJSON(v.result)
		if v.exchange != nil {
			e.Exchange = v.exchange()
		}
	}
	return e
}

// asJSON makes a JSON string of text that is not JSON.
func asJSON(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil // an empty RawMessage that is not nil has no JSON
	case json.Valid(raw):
		return raw
	}
	quoted, _ := json.Marshal(string(raw)) // a string always has JSON
	return quoted
}

// log keeps the newest records up to max, in the order in which their calls ended.
type log struct {
	mu      sync.Mutex
	max     int
	records []record // a ring of max once it is full: the record n is at n % max
	ended   uint64   // how many there were
}

// add keeps a record, and counts its failure for the attempts that follow.
func (l *log) add(r *record, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.site.streak(streak{r.caller, r.key}, failed)
	switch {
	case len(l.records) < l.max:
		l.records = append(l.records, *r)
	case l.max > 0:
		l.records[l.ended%uint64(l.max)] = *r
	}
	l.ended++
}

func (l *log) since(n uint64) (records []record, ended uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := uint64(len(l.records))
	first := min(max(n, l.ended-kept), l.ended)
	records = make([]record, 0, l.ended-first)
	for i := first; i < l.ended; i++ {
		records = append(records, l.records[i%kept])
	}
	return records, l.ended
}

func (l *log) drops() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended - uint64(len(l.records))
}

// keep logs a call that has ended, or that End found open, and reports it to OnEvent and
// the watchers.
func (in *Injector) keep(ctx context.Context, r *record) {
	in.log.add(r, r.err != nil || r.outcome == OutcomePanicked || r.outcome == OutcomeOpen)
	in.notify(ctx, r)
}

// Watch calls f with every event from now on, as and after [InjectorOptions].OnEvent. stop
// ends that, but does not wait for a call of f that is under way.
func (in *Injector) Watch(f func(context.Context, Event)) (stop func()) {
	w := &f // a pointer, since functions cannot be compared
	change := func(edit func([]watcher) []watcher) {
		in.mu.Lock()
		defer in.mu.Unlock()
		list := edit(slices.Clone(in.watching()))
		in.watchers.Store(&list)
	}
	change(func(list []watcher) []watcher { return append(list, w) })
	return func() {
		change(func(list []watcher) []watcher {
			return slices.DeleteFunc(list, func(other watcher) bool { return other == w })
		})
	}
}

type watcher = *func(context.Context, Event)

func (in *Injector) watching() []watcher {
	if list := in.watchers.Load(); list != nil {
		return *list
	}
	return nil
}

func (in *Injector) notify(ctx context.Context, r *record) {
	watchers := in.watching()
	if len(watchers) == 0 {
		return
	}
	e := r.event()
	for _, f := range watchers {
		(*f)(orBackground(ctx), e)
	}
}

func (in *Injector) notifyBegin(ctx context.Context, r *record) {
	if in.opts.OnBegin == nil {
		return
	}
	e := r.event()
	e.End, e.Outcome, e.Effect = 0, "", EffectUnknown
	in.opts.OnBegin(orBackground(ctx), e)
}
