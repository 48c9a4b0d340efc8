package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// An Event is all that the agent knows of an incident. It does not say what
// failed: to find that out is the task.
type Event struct {
	Reason string    `json:"faultType"` // such as "error"
	At     time.Time `json:"timestamp"` // when the fault was first seen
}

// ReadEvent takes the event from the record in a workspace.
func ReadEvent(workspace string) (e Event, err error) {
	doc, err := os.ReadFile(filepath.Join(workspace, incident.RecordFile))
	if err == nil {
		err = json.Unmarshal(doc, &e)
	}
	if err != nil {
		return e, fmt.Errorf("offline: %s: %w", incident.RecordFile, err)
	}
	if e.At.IsZero() {
		return e, errors.New("offline: the incident has no timestamp; allowed: a time by RFC 3339")
	}
	return e, nil
}
