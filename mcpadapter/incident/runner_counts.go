package incident

// Counts count the events that a runner was offered, or took over from an
// earlier runner, by what became of them. They start at zero with each runner.
// Queued, Running, Interrupted and Unsent are those of now.
//
// A malformed event is of neither shape or has impossible members, a filtered one is below
// the least severity, and a duplicate is like one before, within the window or while its
// agent runs. The oldest of a full queue is dropped, and what comes after the shutdown
// began is refused. When no event is being handled:
//
//	Received + Restored = Malformed + Filtered + Duplicate + Dropped + Refused +
//		Queued + Running + Interrupted + Resolved + Failed + AgentFailed
type Counts struct {
	Received      uint64 `json:"received"` // events that were offered
	Restored      uint64 `json:"restored"` // events and incidents that an earlier runner left
	Malformed     uint64 `json:"malformed"`
	Filtered      uint64 `json:"filtered"`
	Duplicate     uint64 `json:"duplicate"`
	Dropped       uint64 `json:"dropped"`
	Refused       uint64 `json:"refused"`
	Queued        uint64 `json:"queued"`      // events that wait for an agent
	Running       uint64 `json:"running"`     // incidents under investigation
	Interrupted   uint64 `json:"interrupted"` // incidents that will be resumed
	Resolved      uint64 `json:"resolved"`
	Failed        uint64 `json:"failed"`
	AgentFailed   uint64 `json:"agentFailed"`
	StoreErrors   uint64 `json:"storeErrors"`   // records that could not be written at once
	JournalErrors uint64 `json:"journalErrors"` // steps that could not be written down at once
	Notified      uint64 `json:"notified"`      // messages that were confirmed
	MaybeSent     uint64 `json:"maybeSent"`
	NotifyLost    uint64 `json:"notifyLost"`
	Unsent        uint64 `json:"unsent"`  // messages that wait
	Blocked       uint64 `json:"blocked"` // calls of the store or the notifier that were over their time
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
