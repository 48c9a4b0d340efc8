package contracttest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// TestRunCell: one cell, in virtual time, whose outcome is the caller's to judge.
func TestRunCell(t *testing.T) {
	broken := contracttest.RunCell(t, lying(t), contract.Cell{Scenario: "clock-down", Invariant: "says.noon", Trial: 2}, nil)
	assert.Equal(t, contract.Broken, broken.State, "and this test goes on")
	assert.NotNil(t, broken.Evidence)
	assert.Equal(t, "go test -count=1 -run '^TestRunCell$' github.com/shakedown-go/shakedown/contract/contracttest", broken.Rerun)

	slow := lying(t)
	slow.Scenarios = append(slow.Scenarios, contract.Under("slow", chaos.Rule{Target: "clock", Fault: fault.Delay(9 * time.Hour)}))
	held := contracttest.RunCell(t, slow, contract.Cell{Scenario: "slow", Invariant: "says.noon", Trial: 1}, nil)
	assert.Equal(t, contract.Held, held.State)
	assert.Equal(t, 9*time.Hour, held.Elapsed, "in the time of the cell")
}

func TestChildRunCellOfNoCell(t *testing.T) {
	onlyInChild(t)
	contracttest.RunCell(t, lying(t), contract.Cell{Scenario: "clock-up", Invariant: "says.noon", Trial: 1}, nil)
	t.Log("not reached")
}

func TestRunCellOfNoCellFailsTheTest(t *testing.T) {
	out, failed := child(t, "^TestChildRunCellOfNoCell$")
	assert.True(t, failed)
	assert.Contains(t, out, `contracttest: the cell did not run: contract: Cell is "clock-up/says.noon/1"`)
	assert.NotContains(t, out, "not reached")
}
