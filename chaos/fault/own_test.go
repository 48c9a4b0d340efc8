package fault_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos/chaostest"
)

// The fault of docs/adding-a-fault.md keeps the rules that the page sets up.
func TestTheExampleKeepsTheRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		assert.NoError(t, chaostest.Fault(Abridge(12), &chaostest.FaultOptions{Result: "a table of good make"}))
	})
}
