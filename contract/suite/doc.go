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
// other key is an [*Error], with its line, what is allowed, and the nearest name:
//
//	refunds.yaml:7:24: contract/invariants/1/when: bad value "tool_fault_active"; allowed: one of always, …
//
// All problems of a file are reported at once. YAML is read as JSON would be: tags, merge
// keys, repeated keys, a second document and numbers that JSON does not have are errors.
// A file in JSON is read as JSON.
//
// # What needs Go
//
// A file names functions: those that list effects are [Options].Effects, types of
// invariants of one's own are made by [InvariantKind]. The agent is given to
// [Suite.Matrices], or is behind HTTP, at the endpoint that the file names.
//
// docs/suites.md has all types of invariants and modes of faults.
package suite
