package contracttest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/search"
)

// Eleven minutes of delay take no time, and a scan needs no options.
func TestScanInVirtualTime(t *testing.T) {
	m := lying(t)
	m.Scenarios = nil
	r := contracttest.Scan(t, m, search.Delay("clock"), nil)
	require.Len(t, r.Limits, 2)
	require.NotNil(t, r.Limits[1].Held)
	assert.Equal(t, search.Delay("clock").To, *r.Limits[1].Held)
	r = contracttest.Scan(t, m, search.Burst("clock", fault.Fail(fault.ErrUnavailable)), nil)
	require.NotNil(t, r.Limits[0].Broke)
	assert.EqualValues(t, 1, *r.Limits[0].Broke)
	assert.EqualValues(t, 0, *r.Limits[0].Held)
}

func TestChildScanMisspelt(t *testing.T) {
	onlyInChild(t)
	contracttest.Scan(t, lying(t), search.Burst("clok", fault.Fail(fault.ErrUnavailable)), nil)
}

func TestChildScanInASharedWorld(t *testing.T) {
	onlyInChild(t)
	contracttest.Scan(t, &contract.Matrix{World: &contract.World{}}, search.Delay("clock"), nil)
}

func TestChildScanThatIsCut(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.Trials = 200
	contracttest.Scan(t, m, search.Delay("clock"), nil)
}

// A scan that shows nothing is no pass.
func TestScanFails(t *testing.T) {
	for _, row := range []struct{ run, want string }{
		{"^TestChildScanMisspelt$", "the scan shows nothing of says.noon"},
		{"^TestChildScanInASharedWorld$", "Budget is no bound"},
		{"^TestChildScanThatIsCut$", "the scan is not complete: the "},
	} {
		out, failed := child(t, row.run)
		assert.True(t, failed, out)
		assert.Contains(t, out, row.want)
	}
}
