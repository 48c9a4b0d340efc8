package incident

import "github.com/shakedown-go/shakedown/mcpadapter/incident/internal/durable"

// OnFS has the workspaces, and a runner's journal in them, written by way of
// another file system.
func (w *Workspaces) OnFS(fs durable.FS) { w.fs = fs }
