// Package incident makes an incident of every fault that a server reports, has
// an agent investigate it, and records how that ended.
//
// A [Subscriber] listens to an MCP server that has the tool events_subscribe: a
// Kubernetes server, or one made by package mcpadapter. What it hears goes to a
// [Runner]:
//
//	event → severity → duplicates → queue → at most N agents → report → stores → notification
//
// Every event that comes in is accounted for in [Counts], and the one who sends
// waits for one write to a file. Each incident has a directory of its own,
//
//	incidents/6f1c…/incident.json              status, times, what is known of the fault
//	incidents/6f1c…/output/investigation.md    what the agent found out
//
// and ends as resolved (the agent ended with 0 and left a report of substance),
// failed (it did not end well) or agent_failed (it did, without a report); one
// whose runner was told to stop is interrupted, and resumed by the next. The
// agent is a program ([Command]) or a function ([AgentFunc]); what it does to its
// workspace (removing it, filling it, links in place of files) ends its own
// incident and touches nothing outside.
//
//	workspaces, err := incident.NewWorkspaces("incidents")
//	…
//	runner, err := incident.NewRunner(incident.Options{
//		Workspaces: workspaces,
//		Agent:      &incident.Command{Path: []string{"bash", "run-agent.sh"}, Model: "sonnet"},
//	})
//	…
//	ended := make(chan error, 1)
//	go func() { ended <- runner.Run(ctx) }()
//	err = (&incident.Subscriber{Endpoint: url, Sink: runner.Offer}).Run(ctx) // until ctx ends
//	return errors.Join(err, <-ended)                                         // within the grace of 20 s
//
// What a runner owes is on disk, in .runner under the root: events that wait,
// incidents without an end, messages that are not sent. Kill it at any moment,
// and the next runner on the root goes on; see docs/incidents.md for what
// survives what. One runner has a root at a time.
//
// A runner keeps at most its queue, its running agents and the keys of the last
// five minutes in memory; an event costs it some microseconds, more where it is
// written to the journal than where it is a duplicate.
package incident
