package findings_test

import (
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
)

// A refund timed out and was tried again; the first had been done.
func ExampleFind() {
	args := json.RawMessage(`{"order":1042}`)
	calls := []findings.Call{
		{Tool: "get", Args: args, Result: json.RawMessage(`{"total":59.9}`)},
		{Tool: "refund", Args: args, Error: &findings.CallError{Text: "i/o timeout"}, Effect: findings.Done},
		{Tool: "refund", Args: args, Result: json.RawMessage(`"R-2"`)},
		{Tool: "notify", Error: &findings.CallError{Text: "connection refused"}},
	}
	report, err := findings.Find(calls, &findings.Options{Tools: []chaos.Tool{
		{Name: "get", Effect: chaos.EffectNone},
		{Name: "refund", Effect: chaos.EffectDone},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*report.Verdict)
	for _, f := range report.Findings {
		fmt.Println(f.Kind, f.Calls, f.Text)
	}
	fmt.Println(report.Unjudged[findings.Abandoned])
	// Output:
	// retried
	// retry [2 3] refund was called again once after it had failed with "i/o timeout".
	// duplicate-effect [2 3] the effect of refund was done 2 times for equal arguments.
	// It is not declared whether notify has effects, and a call of it failed.
}
