package incident

// A Notifier is told of every incident that ended. Notify does not block, and
// nothing it does changes the incident.
type Notifier interface {
	Notify(in Incident, f Finding)
}
