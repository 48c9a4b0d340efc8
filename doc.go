// Package shakedown is the map of the module; the work is in its packages.
//
// Shakedown is for teams that build LLM agents in Go. It breaks an agent's
// world on purpose, in process and reproducibly, states what must stay true
// anyway, and says how sure it is of the answer.
//
//   - [github.com/shakedown-go/shakedown/chaos] wraps functions, tool
//     registries and streams with faults. Its parts: chaos/fault, what goes
//     wrong; chaos/when, on which calls; chaos/lies, results that are
//     well-formed and wrong; chaos/chaoshttp and chaos/chaosio, HTTP and
//     readers; chaos/planjson, plans as data; chaos/lint, what is wrong with a
//     plan; chaos/chaostest, checks for faults and triggers of your own.
//   - [github.com/shakedown-go/shakedown/contract] asks every invariant in every
//     scenario, each cell an independent run. Its parts: contract/invariant,
//     ready-made promises; contract/contracttest, the matrix as go test subtests
//     in virtual time; contract/report, what a person or a machine reads;
//     contract/experiment, steady states, rollbacks and game days;
//     contract/trace, chaos events and traces as timelines.
//   - [github.com/shakedown-go/shakedown/scoring] makes a number, a verdict of
//     three values and an interval of the cells; scoring/timeline finds
//     outages and recovery in a recorded run.
//   - [github.com/shakedown-go/shakedown/mcpadapter] lets another program, or
//     another agent, drive all that as MCP tools; mcpadapter/policy stands before them.
//
// The example below is a whole contract: an agent that refunds an order, one
// promise, and the weather in which it must be kept.
package shakedown
