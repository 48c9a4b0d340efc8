// Package suite reads contracts from files, to be reviewed without reading Go.
//
//	version: "2.0"
//	golden_prompts: ["Refund order 1042"]
//	contract:
//	  name: refunds
//	  invariants:
//	    - {id: one-refund, type: at_most_once, effects: refunds, severity: critical}
//	    - {id: no-figures, type: regex, pattern: '\$\d', negate: true}
//	  chaos_matrix:
//	    - name: no-chaos
//	    - {name: outage, tool_faults: [{tool: "*", mode: error, error_code: 503, after_calls: 2}]}
//	    - {name: lost, rules: [{target: refund, fault: {kind: lost_reply, params: {duration: 2s}}}]}
//	mutations: {types: [noise, prompt_injection], count: 5}
//
// A suite has up to three matrices: the contract, its prompts in other words, and played
// sessions. Each runs as any other matrix does:
//
//	s, err := suite.Load("contract.yaml", &suite.Options{Effects: effects})
//	for name, m := range s.Matrices(newWorld) {
//		t.Run(name, func(t *testing.T) { reports[name] = contracttest.Run(t, m, nil) })
//	}
//	result, err := s.Score(reports, nil)
//
// # Reading
//
// The layout is one that other tools have too. A key that is accepted has an effect; every
// other key is an error, with its line, what is allowed, and the nearest name:
//
//	refunds.yaml:7:24: contract/invariants/1/when is "tool_fault_active"; allowed: one of always, …
//
// All problems of a file are reported at once. YAML is read as JSON would be: tags, merge
// keys, repeated keys, a second document and numbers that JSON does not have are errors.
// A file in JSON is read as JSON.
//
// # What needs Go
//
// A file names functions: those that list effects are [Options].Effects. The agent is given to
// [Suite.Matrices], or is behind HTTP, at the endpoint that the file names.
//
// # An agent in any language
//
// The agent behind HTTP is a program that somebody else starts. Faults reach it where proxies of
// the file stand in front of its tools and of its model, and it calls those:
//
//	agent:
//	  endpoint: http://127.0.0.1:8080/agent
//	  proxies:
//	    - {listen: "127.0.0.1:8081", to: "http://127.0.0.1:8082", point: desk, paths: {/refund: payments.refund}}
//	  tools: [{name: payments.refund, effect: done, idempotencyKey: /key}]
//	  state: {url: "http://127.0.0.1:8082/state"}
//
// A request is a call of the injection point that paths names for its path, else of point. What a
// proxy cannot deliver is an error of the file. The proxies listen while a matrix runs. A request
// that comes when no cell is under way gets status 503.
//
// docs/reference/suites.md has all types of invariants and modes of faults.
//
// Stability: may change.
package suite
