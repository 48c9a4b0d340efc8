package incident

// Counts say what became of every event that a runner was offered. At rest,
// Received = Malformed + Filtered + Duplicate + Dropped + Refused + Queued +
// Running + Resolved + Failed + AgentFailed.
type Counts struct {
	Received    uint64 `json:"received"`
	Malformed   uint64 `json:"malformed"` // of neither shape, or with impossible members
	Filtered    uint64 `json:"filtered"`  // below the least severity
	Duplicate   uint64 `json:"duplicate"` // like one before, within the window or while its agent runs
	Dropped     uint64 `json:"dropped"`   // the oldest of a full queue, and what was queued at a shutdown
	Refused     uint64 `json:"refused"`   // offered after the shutdown began
	Queued      uint64 `json:"queued"`    // now
	Running     uint64 `json:"running"`   // now
	Resolved    uint64 `json:"resolved"`
	Failed      uint64 `json:"failed"`
	AgentFailed uint64 `json:"agentFailed"`
	StoreErrors uint64 `json:"storeErrors"` // records that could not be written; the incident went on
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
