// Package shakedown is the overview of the module; it has no API of its own.
//
// Shakedown is for teams that build LLM agents in Go. It injects faults into an
// agent's tools, in process and reproducibly, checks what must hold all the same,
// and reports how certain the result is.
//
//   - [github.com/shakedown-go/shakedown/chaos] wraps functions, tool
//     registries and streams with faults. Its parts: chaos/fault, the faults;
//     chaos/when, the triggers; chaos/lies, results that are well-formed and
//     wrong; chaos/chaoshttp and chaos/chaosio, faults of HTTP and of readers;
//     chaos/chaoshttp/modeltest, a scripted model provider; chaos/experiment,
//     steady states, rollbacks and game days; chaos/planjson,
//     plans as JSON; chaos/lint, the mistakes in a plan; chaos/chaostest,
//     checks for faults and triggers of your own.
//   - [github.com/shakedown-go/shakedown/contract] checks every invariant in every
//     scenario, each cell an independent run. Its parts: contract/invariant,
//     ready-made invariants; contract/goal, ready-made goals; contract/scenarios,
//     ready-made scenarios;
//     contract/contracttest, the matrix as go test subtests in virtual time;
//     contract/httpagent, agents behind HTTP; contract/cassette, their HTTP
//     exchanges recorded and played; contract/report, the report for people and
//     for programs; contract/compare, two reports;
//     contract/trace, chaos events and traces as timelines.
//   - [github.com/shakedown-go/shakedown/scoring] computes a score, a verdict of
//     three values and an interval from the cells; scoring/timeline finds
//     outages and recovery in a recorded run.
//   - [github.com/shakedown-go/shakedown/mcpadapter] offers all that to another
//     program, or another agent, as MCP tools. Its parts: mcpadapter/policy, who
//     may call which tool; mcpadapter/mcpchaos, faults of the protocol;
//     mcpadapter/incident, agents that investigate reported faults.
//
// The example below is a whole matrix: an agent that refunds an order, one
// invariant, and the scenarios in which it must hold.
package shakedown
