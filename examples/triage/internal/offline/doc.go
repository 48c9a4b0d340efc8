// Package offline is a triage agent that needs no language model: it asks an MCP
// server with a timeline (package mcpadapter) what happened around an event, and
// reasons about the answers with arithmetic.
//
// Of an incident it reads the namespace, the reason and the time, and nothing
// that would name the culprit. [Gather] asks get_runs, get_graph and
// get_state_window; [Judge] decides which node failed, since when, who else was
// affected and how sure that is, a pure function of the answers; [Investigate]
// does both until the node has recovered or the time is up, has
// detect_outages and compute_recovery_time confirm what it found, and writes the report.
//
// How it decides, in short: a node is unwell where more of its calls fail, or
// they take longer, than before the event. A node whose own callee is unwell
// enough to explain it is a victim. Of those that are left the worst is the
// culprit; the namespace and the reason of the event decide between several.
package offline
