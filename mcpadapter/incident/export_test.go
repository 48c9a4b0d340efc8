package incident

import "github.com/shakedown-go/shakedown/mcpadapter/incident/internal/durable"

// OnFS makes the workspaces, and a runner's journal in them, use another file
// system.
func (w *Workspaces) OnFS(fs durable.FS) { w.fs = fs }
