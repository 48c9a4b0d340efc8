package fault_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
)

// The faults and the trigger of docs/adding-a-fault.md keep the rules that the
// page sets up.
func TestTheExamplesKeepTheRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		assert.NoError(t, chaostest.Fault(cut{n: 12}, &chaostest.FaultOptions{Result: "a table of good make", Bad: []chaos.Fault{cut{n: -1}}}))
		assert.NoError(t, chaostest.Fault(quota{}, nil))
		assert.NoError(t, chaostest.When(again{}, nil))
	})
}
