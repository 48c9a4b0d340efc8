package incident

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A courier delivers letters to a receiver that may be slow or stuck: one at a
// time, in a goroutine of its own, so that no agent waits for it.
type courier struct {
	name   string
	box    *outbox
	wake   chan struct{} // holds a token when there may be something to do
	before func(l *letter) error
	send   func(ctx context.Context, in Incident) error
	after  func(l *letter, err error)
}

func newCourier(name string, box *outbox) *courier {
	return &courier{name: name, box: box, wake: make(chan struct{}, 1)}
}

// nudge puts a token into a channel that holds one.
func nudge(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// carry delivers until the context ends. When draining is closed it tries once
// what is due, and returns.
func (r *Runner) carry(ctx context.Context, c *courier, draining <-chan struct{}) {
	for {
		r.mu.Lock()
		l, wait := c.box.next(time.Now())
		r.mu.Unlock()
		if l != nil && wait == 0 {
			if !r.deliver(ctx, c, l) {
				return
			}
			continue
		}
		select { // what is due has been tried
		case <-draining:
			return
		default:
		}
		if l == nil {
			wait = mostLetterPause
		}
		due := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-draining:
		case <-c.wake:
		case <-due.C:
		}
		due.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// deliver carries one letter. false: the context ended before the receiver
// answered.
func (r *Runner) deliver(ctx context.Context, c *courier, l *letter) bool {
	in, err := r.contents(l)
	if err != nil {
		r.o.Log.Error("nothing to deliver", "to", c.name, "incident", l.id, "error", err)
		c.after(l, fmt.Errorf("%w: %w", ErrRefused, err))
		return true
	}
	if err := c.before(l); err != nil {
		r.mu.Lock()
		l.sending = false
		l.again(time.Now())
		r.mu.Unlock()
		return true
	}
	sending, cancel := context.WithTimeout(ctx, r.o.SendTimeout)
	defer cancel()
	answer := usercode.Go(errReceiverExited, func() error { return c.send(sending, in) })
	err, answered := r.answer(ctx, sending, c, answer)
	if !answered {
		return false
	}
	if p, panicked := err.(*usercode.PanicError); panicked {
		err = fmt.Errorf("%w: the receiver panicked: %v", ErrMaybeSent, p.Value)
	}
	c.after(l, err)
	return true
}

var errReceiverExited = errors.New("the receiver ended its goroutine")

// answer waits for a receiver. If the receiver exceeds its time, that is
// counted, and it gets nothing else until it answers.
func (r *Runner) answer(ctx, sending context.Context, c *courier, answer <-chan error) (err error, answered bool) {
	select {
	case err := <-answer:
		return err, true
	case <-sending.Done():
	}
	select { // most answer at once when their context ends
	case err := <-answer:
		return err, true
	case <-time.After(r.o.answerPatience()):
	}
	if ctx.Err() != nil {
		return nil, false
	}
	r.mu.Lock()
	r.counts.Blocked++
	r.mu.Unlock()
	r.o.Log.Error("a receiver does not answer", "receiver", c.name)
	select {
	case err := <-answer:
		return err, true
	case <-ctx.Done():
		return nil, false
	}
}

// contents is the incident of a letter; after a restart as its workspace has it.
func (r *Runner) contents(l *letter) (Incident, error) {
	r.mu.Lock()
	in := l.in
	r.mu.Unlock()
	if in != nil {
		return *in, nil
	}
	found, err := r.o.Workspaces.load(l.id)
	if err == nil && !found.Status.final() {
		err = fmt.Errorf("its record says that it is %s", found.Status)
	}
	return found, err
}

func (r *Runner) reportOf(in Incident) []byte {
	if in.Status != StatusResolved {
		return nil
	}
	report, err := readReport(r.o.Workspaces.Dir(in.IncidentID))
	if err != nil {
		r.o.Log.Warn("report not delivered", "incident", in.IncidentID, "error", err)
	}
	return report
}

// storeCourier keeps the other store up to date.
func (r *Runner) storeCourier() *courier {
	c := newCourier("store", &r.book.copies)
	c.before = func(l *letter) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		l.sending = true
		return nil
	}
	c.send = func(_ context.Context, in Incident) error { return r.o.Store.Save(in, r.reportOf(in)) }
	c.after = func(l *letter, err error) {
		now := time.Now()
		r.mu.Lock()
		defer r.mu.Unlock()
		l.sending = false
		if err != nil {
			r.counts.StoreErrors++
			r.o.Log.Error("incident not stored", "incident", l.id, "error", err)
			if !errors.Is(err, ErrRefused) && now.Sub(l.added) <= letterLife {
				l.again(now)
				return
			}
		}
		_ = r.commit(entry{Op: opStored, Incident: l.id}) // the workspace has it in any case
	}
	return c
}

// notifyCourier notifies the notifier. The beginning of each message is written
// down first: whatever happens then, the message is not sent again.
func (r *Runner) notifyCourier() *courier {
	c := newCourier("notifier", &r.book.letters)
	c.before = func(l *letter) error { return r.writeDown(entry{Op: opSending, Incident: l.id}) }
	c.send = func(ctx context.Context, in Incident) error {
		return r.o.Notifier.Notify(ctx, in, ReadFinding(r.reportOf(in)))
	}
	c.after = func(l *letter, err error) {
		now := time.Now()
		r.mu.Lock()
		defer r.mu.Unlock()
		e := entry{Op: opSettled, Incident: l.id, Reason: errorText(err)}
		switch {
		case err == nil:
			r.counts.Notified++
		case errors.Is(err, ErrMaybeSent):
			r.counts.MaybeSent++
		case errors.Is(err, ErrRefused) || now.Sub(l.added) > letterLife:
			r.counts.NotifyLost++
		default:
			e.Op = opUnsent
			l.again(now)
		}
		_ = r.commit(e) // counted there
		if err != nil {
			r.o.Log.Error("incident not announced", "incident", l.id, "again", e.Op == opUnsent, "error", err)
		}
	}
	return c
}

// letter is an incident that has ended, to be delivered to a receiver.
type letter struct {
	id      string
	added   time.Time
	in      *Incident // nil: as the workspace has it
	sending bool      // the receiver was called, and has not answered
	tries   int
	due     time.Time // not before; zero: at once
}

// outbox holds letters, the oldest first. Not safe for concurrent use.
type outbox struct{ letters []*letter }

// maxOutbox bounds the letters that wait for a receiver that is down.
const maxOutbox = 1000

// A receiver that does not accept a letter is called again after 1 s, 2 s, 4 s
// and so on, for a day.
const (
	leastLetterPause = time.Second
	mostLetterPause  = 5 * time.Minute
	letterLife       = 24 * time.Hour
)

func (b *outbox) find(id string) *letter {
	if i := slices.IndexFunc(b.letters, func(l *letter) bool { return l.id == id }); i >= 0 {
		return b.letters[i]
	}
	return nil
}

// put adds a letter, or updates the one that waits and makes it due at once.
func (b *outbox) put(id string, now time.Time, in *Incident) {
	l := b.find(id)
	if l == nil {
		l = &letter{id: id, added: now}
		b.letters = append(b.letters, l)
	}
	l.in, l.due, l.tries = in, time.Time{}, 0
}

func (b *outbox) remove(id string) {
	b.letters = slices.DeleteFunc(b.letters, func(l *letter) bool { return l.id == id })
}

// next returns the letter that is due first, and how long until then; nil if
// the outbox is empty.
func (b *outbox) next(now time.Time) (l *letter, wait time.Duration) {
	for _, other := range b.letters {
		if !other.due.After(now) {
			return other, 0
		}
		if l == nil || other.due.Before(l.due) {
			l, wait = other, other.due.Sub(now)
		}
	}
	return l, wait
}

// again postpones a letter.
func (l *letter) again(now time.Time) {
	pause := mostLetterPause
	if l.tries < 9 { // beyond, the pause is at its most anyway
		pause = min(pause, leastLetterPause<<l.tries)
	}
	l.tries++
	l.due = now.Add(pause)
}

// excess returns the oldest letter that was never tried, if there are too many.
func (b *outbox) excess() *letter {
	if len(b.letters) <= maxOutbox {
		return nil
	}
	if i := slices.IndexFunc(b.letters, func(l *letter) bool { return !l.sending }); i >= 0 {
		return b.letters[i]
	}
	return nil
}
