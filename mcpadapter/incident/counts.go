package incident

// Counts count the events that a runner was offered, or took over from an
// earlier runner, by what became of them. They start at zero with each runner.
// When no event is being handled:
//
//	Received + Restored = Malformed + Filtered + Duplicate + Dropped + Refused +
//		Queued + Running + Interrupted + Resolved + Failed + AgentFailed
type Counts struct {
	Received      uint64 `json:"received"`
	Restored      uint64 `json:"restored"`    // left by an earlier runner: its queue and what it did not end
	Malformed     uint64 `json:"malformed"`   // of neither shape, or with impossible members
	Filtered      uint64 `json:"filtered"`    // below the least severity
	Duplicate     uint64 `json:"duplicate"`   // like one before, within the window or while its agent runs
	Dropped       uint64 `json:"dropped"`     // the oldest of a full queue
	Refused       uint64 `json:"refused"`     // offered after the shutdown began
	Queued        uint64 `json:"queued"`      // now
	Running       uint64 `json:"running"`     // now
	Interrupted   uint64 `json:"interrupted"` // now; this runner or the next resumes them
	Resolved      uint64 `json:"resolved"`
	Failed        uint64 `json:"failed"`
	AgentFailed   uint64 `json:"agentFailed"`
	StoreErrors   uint64 `json:"storeErrors"`   // attempts to write a record that failed; it is tried again
	JournalErrors uint64 `json:"journalErrors"` // steps that were not written down at once
	Notified      uint64 `json:"notified"`      // messages that the receiver confirmed
	Unsent        uint64 `json:"unsent"`        // messages that wait, now
	MaybeSent     uint64 `json:"maybeSent"`     // messages without a confirmation that are not sent again
	NotifyLost    uint64 `json:"notifyLost"`    // messages that were given up
	Blocked       uint64 `json:"blocked"`       // calls of the store or the notifier that were over their time
	Removed       uint64 `json:"removed"`       // workspaces, for their age or the size of all
}

// ended counts an incident by its status.
func (c *Counts) ended(s Status) {
	c.Running--
	switch s {
	case StatusResolved:
		c.Resolved++
	case StatusAgentFailed:
		c.AgentFailed++
	default:
		c.Failed++
	}
}
