package chaos

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// record is an event as the log keeps it: a third of the size, without texts.
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
	turn       int
	attempt    int
	outcome    outcome
	effect     effect
	delivered  bool
}

// outcome and effect are the events' strings in a byte.
type (
	outcome uint8
	effect  uint8
)

const (
	ok outcome = iota
	failed
	injected
	panicked
)

const (
	unknown effect = iota
	none
	done
)

var (
	outcomes = [...]Outcome{ok: OutcomeOK, failed: OutcomeFailed, injected: OutcomeInjected, panicked: OutcomePanicked}
	effects  = [...]Effect{unknown: EffectUnknown, none: EffectNone, done: EffectDone}
)

// details are the parts of an event that most events lack.
type details struct {
	also, idle, masked, held []string
	asked, spent             time.Duration
	changes                  []Change
	note                     string
}

// values are the arguments and the result of a call, as JSON.
type values struct{ args, result json.RawMessage }

// maxNote bounds the notes of one call, in bytes: streams are unbounded, and a fault
// may add a note per item.
const maxNote = 4096

// note adds a sentence, unless it is there already.
func (r *record) note(text string) {
	if r.more == nil {
		r.more = &details{}
	}
	switch former := r.more.note; {
	case former == "":
		r.more.note = text
	case len(former)+len(text) <= maxNote && !strings.Contains(former, text):
		r.more.note = former + "; " + text
	}
}

// ends notes that the call ends. Its time is 0 if Arm set the clock back meanwhile.
func (r *record) ends(err error) {
	r.end, r.err = max(r.start, r.site.in.Elapsed()), err
	r.ended = r.site.in.begun.Load()
}

// call is the number of the call; 0: it is only an injected error, and has none.
func (r *record) call() uint64 {
	if r.begun%2 != 0 {
		return 0
	}
	return r.begun
}

// event makes the event of a record.
func (r *record) event() Event {
	e := Event{
		Cell: r.site.in.cell, Lane: r.site.lane, Target: r.site.target, Alias: r.site.alias, Call: r.call(), Layer: r.layer, Caller: r.caller,
		Key: r.key, Occurrence: r.occurrence, Ordinal: r.ordinal, Turn: r.turn,
		Start: r.start, End: r.end, Attempt: r.attempt,
		Outcome: outcomes[r.outcome], Delivered: r.delivered, Effect: effects[r.effect],
	}
	if r.main != nil {
		e.Rule, e.Fault = r.main.Name, r.main.kind
	}
	if r.err != nil {
		e.Err = errorText(r.err)
	}
	if m := r.more; m != nil {
		e.Also, e.Idle, e.Masked, e.Asked, e.Spent = m.also, m.idle, m.masked, m.asked, m.spent
		e.HeldBack, e.Note = m.held, m.note
		for _, ch := range m.changes {
			e.Changes = append(e.Changes, Change{ch.Path, asJSON(ch.Before), asJSON(ch.After)})
		}
	}
	if v := r.values; v != nil {
		e.Args, e.Result = asJSON(v.args), asJSON(v.result)
	}
	return e
}

// errorText is err.Error(), which may panic in user code.
func errorText(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = "chaos: the Error method of the error panicked"
		}
	}()
	return err.Error()
}

// asJSON returns a document that can be embedded in JSON: text that is not JSON
// becomes a JSON string.
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

// log keeps the newest records up to max, in a ring once it is full. Records are in
// the order in which their calls ended. The index of a record plus the number of
// dropped ones is the number of its call.
type log struct {
	mu      sync.Mutex
	max     int
	records []record
	oldest  int
	dropped uint64
}

// add keeps a record, and counts its failure for the attempts that follow.
func (l *log) add(r *record, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.site.streak(streak{r.caller, r.key}, failed)
	switch {
	case len(l.records) < l.max:
		l.records = append(l.records, *r)
	case l.max <= 0:
		l.dropped++
	default:
		l.records[l.oldest] = *r
		if l.oldest++; l.oldest == l.max {
			l.oldest = 0
		}
		l.dropped++
	}
}

// since returns the kept records of the calls that ended after the first n, and
// how many have ended.
func (l *log) since(n uint64) (records []record, ended uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended = l.dropped + uint64(len(l.records))
	if n >= ended {
		return nil, ended
	}
	kept := len(l.records)
	first := kept - int(min(ended-n, uint64(kept))) // the oldest is 0
	records = make([]record, 0, kept-first)
	for i := first; i < kept; i++ {
		records = append(records, l.records[(l.oldest+i)%kept])
	}
	return records, ended
}

func (l *log) drops() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// keep logs a finished call and reports it to OnEvent and the watchers.
func (in *Injector) keep(ctx context.Context, r *record) {
	in.log.add(r, r.err != nil || r.outcome == panicked)
	in.notify(ctx, r)
}
