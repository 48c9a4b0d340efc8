package incident

import (
	"context"
	"errors"
)

// A Notifier is notified of every incident that ended, after its record has
// been written, one at a time. Notify returns nil when the receiver has
// confirmed the message. After an [ErrMaybeSent] or [ErrRefused] the message is
// not sent again; after any other error the runner retries, for a day.
//
// A notifier cannot change the incident. One that blocks delays only other
// messages: its context ends after Options.SendTimeout.
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
