// Package findings says what a list of calls shows: retries and storms of retries, loops,
// effects that were done twice, calls after a final failure, effects that were left unknown,
// and answers that claim what the calls refute or state what no call returned.
//
// The calls are those of an agent, as it saw them. Package replay reads them from traces,
// and [Calls] takes them from the events of a cell:
//
//	report, err := findings.Find(findings.Calls(events), &findings.Options{Tools: tools})
//	for _, f := range report.Findings {
//		fmt.Println(f.Kind, f.Calls, f.Text)
//	}
//
// Each [Finding] names the calls that it rests on and is one sentence. The [Verdict] of a
// trace says how the agent dealt with failures. The invariants of package invariant judge
// cells by the same findings.
//
// # What is not judged
//
// A trace has holes: arguments of which only a hash was kept, calls without an end, tools
// that declare nothing. What cannot be known is not guessed. The count of such a kind is
// nil, null in JSON, and [Report].Unjudged says why. What is certain all the same is among
// the findings.
//
// docs/matrices.md has an example of each kind, what it does not say, the rule by which
// failures are permanent, and that by which effects are known.
//
// Stability: may change.
package findings
