// Package examples holds the runnable programs, each in a folder of its own.
//
//   - quickstart: an agent in every scenario, as a command with a report.
//   - mcpserver: the order desk, for MCP clients to break; also as an image and a chart.
//   - gotest: the same as go tests to copy, and one wrapped function.
//   - regression: the trace of an incident becomes tests, two agents against them.
//   - suite: a contract in a file against an agent behind HTTP.
//   - worlds: one test for each place where an agent may run; one agent is in Python.
//   - gameday: real services killed, paused and cut off, judged by their recorded calls.
//   - fleet: a matrix spread over processes, of which some are killed, beside one process.
//   - cluster: a simulated cluster's control surface over MCP, behind a policy.
//   - triage: a fault that an MCP server reports, investigated by an agent.
package examples
