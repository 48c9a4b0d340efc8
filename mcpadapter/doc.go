// Package mcpadapter serves the API of this library as tools of the Model Context
// Protocol. Another program or agent can use them to control the faults,
// experiments, contracts and timelines of a running program.
//
// # The smallest server
//
// A [Host] is what a program exposes:
//
//	in := chaos.NewInjector(1, nil)
//	srv, err := mcpadapter.NewServer(mcpadapter.Host{Name: "order desk", Injector: in}, nil)
//	if err != nil {
//		log.Fatal(err)
//	}
//	err = srv.ServeStdio(ctx)
//
// The program under test finds the injector in its contexts: chaoshttp.WithInjector
// puts it into those of an HTTP server. Every fault that is delivered leaves a
// line in the audit log, registered by a client or the program.
//
// # Tools
//
// A tool is listed when the host has something behind it:
//
//   - Injector: chaos_inject_fault, chaos_apply_plan, chaos_disarm, events_subscribe,
//     events_unsubscribe, events_list_subscriptions
//   - Injector or Experiments: chaos_status
//   - Experiments: chaos_run_experiment
//   - Matrices, Suite: contract_list, contract_run, contract_report, explain, resilience_score
//   - Runs: get_runs, get_graph, get_state_window, detect_outages,
//     compute_recovery_time, get_impact, compare_runs
//   - Runs and Workload: run_scenario
//
// Each has a typed input and a typed output, and makes one call into the library.
// The list of tools has the schemas of the inputs, and of the outputs the members that are
// always there; the resource shakedown://tools has both whole. Answers give a summary
// first and say what they left out. A call that fails, by bad arguments or by a panic, has a result marked as
// an error with {status, code, detail, hint}, so that a model can correct itself.
// docs/reference/mcp-tools.md has a success and an error of each.
//
// There are resources (the latest report, every kind of fault and trigger, the latest
// faults, the manifest of the tools).
//
// # Who may do what
//
// Package mcpadapter/policy checks every call first. By default clients can only
// read: writing needs SHAKEDOWN_MCP_MODE=read-write and
// SHAKEDOWN_MCP_ENABLE_WRITE=true in the environment. Over HTTP a bearer token is
// needed, SHAKEDOWN_MCP_TOKEN or one whose hash is in SHAKEDOWN_MCP_TOKENS_FILE.
//
// # Transports
//
// [Server.ServeStdio] serves standard input and output, [Server.Serve] a listener,
// and [Server.Handler] a mux of the host. HTTP has streamable HTTP on /mcp, on one
// URL for the protocol revisions with sessions and without, and server-sent events
// for old clients on /sse.
//
// # The other direction
//
// Package mcpadapter/client makes the tools of any MCP server a registry of
// package chaos, so that a contract can be run over any server. Package
// mcpadapter/mcpchaos injects faults into the protocol between them.
//
// # Costs
//
// A call takes 0.3 to 0.4 ms in memory, of which the bare SDK takes 0.3, and 1 to
// 3 ms over HTTP (two shared cores; go test -bench . ./mcpadapter). A
// server adds about 40 ns to the cost of an injector for every event.
//
// Stability: may change.
package mcpadapter
