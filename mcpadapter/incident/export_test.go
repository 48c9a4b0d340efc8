package incident

import (
	"encoding/json"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident/internal/durable"
)

// OnFS makes the workspaces, and a runner's journal in them, use another file
// system.
func (w *Workspaces) OnFS(fs durable.FS) { w.fs = fs }

// Event is a fault that a server reported.
type Event = event

// ParseEvent reads the data of a notification.
func ParseEvent(logger string, data json.RawMessage, received time.Time) (Event, error) {
	return parseEvent(logger, data, received)
}

// Key identifies equal events.
func (e event) Key() string { return e.key() }
