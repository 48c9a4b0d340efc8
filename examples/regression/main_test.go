package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
	"github.com/shakedown-go/shakedown/internal/golden"
)

// The whole program in virtual time: the waits of its time-outs take none.
func output(t *testing.T, dir string) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		require.NoError(t, run(t.Context(), dir, &out))
		assert.GreaterOrEqual(t, time.Since(begun), 4*time.Second, "two agents wait for the replies that do not come")
	})
	return strings.ReplaceAll(out.String(), dir, "DIR")
}

func TestOutput(t *testing.T) {
	got := output(t, t.TempDir())
	assert.Equal(t, got, output(t, t.TempDir()), "every run prints the same")
	golden.Equal(t, "output.txt", []byte(got))
}

// What the program keeps is what a test of the desk needs: three lines.
func TestKeptFilesAreTests(t *testing.T) {
	dir := t.TempDir()
	output(t, dir)
	m, err := regression(orderdesk.Robust(), dir, "refund-1042")
	require.NoError(t, err)
	m.Scenarios = m.Scenarios[1:] // the mended agent asks otherwise than the one of the incident
	contracttest.AssertPassed(t, contracttest.Run(t, m, nil))
}

func TestTheIncidentIsTheFragileAgents(t *testing.T) {
	dir := t.TempDir()
	output(t, dir)
	m, err := regression(orderdesk.Fragile(), dir, "refund-1042")
	require.NoError(t, err)
	m.Scenarios = m.Scenarios[:1]
	synctest.Test(t, func(t *testing.T) {
		cell, err := m.RunCell(t.Context(), m.Cells()[0], nil)
		require.NoError(t, err)
		assert.Equal(t, contract.Broken, cell.State)
		assert.Equal(t, "Order 1042: refunded 24.50 (R-2). Ada Marsh has been told by mail.", cell.Evidence.Response,
			"and answers as it did then")
	})
}
