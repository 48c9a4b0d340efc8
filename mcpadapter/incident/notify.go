package incident

import (
	"context"
	"errors"
)

// A Notifier is told of every incident that ended, after its record has been
// written, one at a time. Notify returns nil when the receiver has confirmed
// the message. An error that is [ErrMaybeSent] or [ErrRefused] is the last word
// about it; after any other the runner asks again, for a day.
//
// Nothing that a notifier does changes the incident, and one that blocks holds
// up other messages alone: its context ends after Options.SendTimeout.
type Notifier interface {
	Notify(ctx context.Context, in Incident, f Finding) error
}

// What a [Notifier] can say about a message that is not to be sent again.
var (
	// ErrMaybeSent: the receiver may have the message, and has not confirmed it.
	ErrMaybeSent = errors.New("incident: maybe sent")
	// ErrRefused: the receiver will never take it.
	ErrRefused = errors.New("incident: refused by the receiver")
)
