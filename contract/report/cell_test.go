package report_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

func TestCell(t *testing.T) {
	c := contract.CellReport{
		Cell: contract.Cell{Scenario: "ack-lost", Invariant: "one-refund", Trial: 3}, Severity: contract.Critical,
		State: contract.Broken, Violated: true, Why: "two refunds", Delivered: 1, Rerun: "go test -run X",
		Evidence: &contract.Observation{Prompt: "Refund order 1042", Response: "Done.\x1b[2J", Events: []chaos.Event{
			{Target: "refund", Rule: "lost", Fault: "lose_reply", Delivered: true, Err: "timeout"},
		}},
	}
	for _, tc := range []struct {
		reason string
		change func(*contract.CellReport)
		want   string
	}{
		{"a broken one", func(*contract.CellReport) {}, `✗ ack-lost / one-refund (critical): broken
  why       two refunds
  prompt    Refund order 1042
  answer    Done.\x1b[2J
  faults    refund, call 1: lose_reply (rule lost), the caller got: timeout
  rerun     go test -run X
`},
		{"one that was not decided", func(c *contract.CellReport) {
			c.State, c.Violated, c.Why, c.Evidence, c.Rerun, c.Delivered = contract.Inconclusive, false, "no reset", nil, "", 0
		}, `? ack-lost / one-refund (critical): inconclusive
  why       no reset
  faults    0 calls saw a fault; the evidence was not kept
`},
	} {
		own := c
		tc.change(&own)
		var b bytes.Buffer
		require.NoError(t, report.Cell(&b, &own, nil), tc.reason)
		assert.Equal(t, tc.want, b.String(), tc.reason)
	}
}

func TestCellRefuses(t *testing.T) {
	var field *report.FieldError
	var b bytes.Buffer
	assert.ErrorAs(t, report.Cell(&b, nil, nil), &field)
	assert.ErrorAs(t, report.Cell(&b, &contract.CellReport{Severity: contract.Low}, &report.TextOptions{Width: 3}), &field)
	assert.Empty(t, b.String())
	full := errors.New("full")
	assert.ErrorIs(t, report.Cell(failingWriter{full}, &contract.CellReport{Severity: contract.Low}, nil), full)
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
