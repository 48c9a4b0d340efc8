// Package offline is a triage agent that needs no language model: it asks an MCP
// server with a timeline (package mcpadapter) what happened around an event, and
// decides by a fixed rule.
//
// Of an incident it reads the reason and the time, and nothing that would name the
// culprit. [Investigate] asks
//
//   - get_runs and get_graph for the nodes that were called,
//   - detect_outages whether calls of one of them failed around the event,
//   - compute_recovery_time and get_impact about the culprit.
//
// A node with an outage is a victim if one that it calls had an outage too. Of
// the others, the culprit is the one that failed first. A fault that makes calls slow
// alone is not found.
package offline
