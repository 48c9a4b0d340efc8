// Package offline is a triage agent that needs no language model: it asks an MCP
// server with a timeline (package mcpadapter) what happened around an event, and
// reasons about the answers with arithmetic.
//
// Of an incident it reads the namespace, the reason and the time, and nothing
// that would name the culprit:
//
//   - [Gather] asks get_runs, get_graph and get_state_window.
//   - [Judge] decides which node failed, since when, which others were affected and
//     how certain that is. It is a pure function of the answers.
//   - [Investigate] does both until the node has recovered or the time is up. Then it
//     confirms the result with detect_outages and compute_recovery_time.
//
// A node is unwell if more of its calls fail, or they take longer, than before the
// event. A node whose callee is unwell enough to explain that is a victim. The
// worst of the others is the culprit. The namespace and the reason of the event
// decide between several.
package offline
