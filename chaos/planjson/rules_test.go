package planjson_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// What chaostest cannot see from where it stands.
var beyondTheChecks = map[string]string{
	"call_budget": "its error tells a time, which the watchdog of the checks moves by nanoseconds",
	"rate_limit":  "its error tells a time",
}

// What comes out of a document keeps the rules for faults and triggers, as
// package chaostest checks them.
func TestEveryKindKeepsTheRules(t *testing.T) {
	for _, r := range planjson.KindRows() {
		if r.Held || beyondTheChecks[r.Name] != "" {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			plan, err := planjson.Decode(documentOf(r), nil)
			require.NoError(t, err)
			rule := plan.Rules()[0]
			synctest.Test(t, func(t *testing.T) {
				if r.Trigger {
					assert.NoError(t, chaostest.When(rule.When, nil))
					return
				}
				assert.NoError(t, chaostest.Fault(rule.Fault, &chaostest.FaultOptions{
					IgnoresContext: r.Name == "ignored_cancellation",
					LosesErrors:    r.Name == "duplicate" || r.Name == "delivered_twice" || r.Name == "message_storm",
				}))
			})
		})
	}
}
