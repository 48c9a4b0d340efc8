// Package incident makes an incident of every fault that a server reports, has
// an agent investigate it, and records the result.
//
// A [Subscriber] receives the events of an MCP server with the tool
// events_subscribe: a Kubernetes server, or one made by package mcpadapter. It
// passes them to a [Runner]:
//
//	event → severity → duplicates → queue → at most N agents → report → stores → notification
//
// Every received event is counted in [Counts], and its sender waits for one write
// to a file. Each incident has a directory of its own:
//
//	incidents/6f1c…/incident.json              status, times, what is known of the fault
//	incidents/6f1c…/output/investigation.md    what the agent found out
//
// It ends as resolved (the agent ended with 0 and left a valid report), failed
// (the agent ended otherwise) or agent_failed (it ended with 0, without a valid
// report). An incident whose runner is stopped is interrupted, and the next
// runner resumes it. The agent is a program ([Command]) or a function
// ([AgentFunc]). Whatever it does to its workspace affects its own incident alone.
//
//	workspaces, err := incident.NewWorkspaces("incidents")
//	…
//	runner, err := incident.NewRunner(&incident.Options{
//		Workspaces: workspaces,
//		Agent:      &incident.Command{Path: []string{"bash", "run-agent.sh"}, Model: "sonnet"},
//	})
//	…
//	ended := make(chan error, 1)
//	go func() { ended <- runner.Run(ctx) }()
//	err = (&incident.Subscriber{Endpoint: url, Sink: runner.Offer}).Run(ctx) // until ctx ends
//	return errors.Join(err, <-ended)                                         // within the grace of 20 s
//
// The state of a runner is on disk, in .runner under the root: events that wait,
// incidents without an end, messages to be sent. If it is killed, at any moment,
// the next runner on the root continues; docs/live.md lists what survives.
// One runner has a root at a time.
//
// A runner keeps at most its queue, its running agents and the keys of the last
// five minutes in memory. An event costs a few microseconds, more if it is written
// to the journal than if it is a duplicate.
//
// Stability: may change.
package incident
