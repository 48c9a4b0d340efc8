package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// exits makes a report of one field of each severity under a rule, with what became of it.
func exits(t *testing.T, outcomes map[string]outcome) *contract.Report {
	return build(t, "exits", 2, []madeScenario{{"calm", true}, {"down", false}},
		[]madeInvariant{{id: "crit", severity: contract.Critical}, {id: "high", severity: contract.High},
			{id: "low", severity: contract.Low}}, outcomes)
}

func TestExitCode(t *testing.T) {
	red := broken("it broke", "no")
	wrong := &report.FieldError{Package: "contract", Field: "prompts"}
	cancelled := exits(t, map[string]outcome{"down/*": notRun})
	cancelled.Cancelled = true
	require.NoError(t, cancelled.Judge())
	noneRan := exits(t, map[string]outcome{"down/*": notRun, "calm/*": notRun})
	lacking := exits(t, map[string]outcome{"down/high": notRun, "down/low": notRun})
	part := exits(t, map[string]outcome{"down/high": notRun, "down/low": notRun})
	part.Filtered = true
	rates := rated(t)
	kept := *rates // without the rejected rate and the broken field
	kept.Fields = slices.DeleteFunc(slices.Clone(kept.Fields), func(f contract.Field) bool {
		return f.Scenario != "calm"
	})
	kept.Cells = slices.DeleteFunc(slices.Clone(kept.Cells), func(c contract.CellReport) bool { return c.Cell.Scenario != "calm" })
	kept.Score.Verdict = scoring.Pass
	counts := countsOnly(t, exits(t, map[string]outcome{"down/high/1": red}))
	for _, row := range []struct {
		reason string
		r      *contract.Report
		err    error
		failOn contract.Severity
		want   int
	}{
		{"nothing broke", exits(t, nil), nil, 0, 0},
		{"a part in which nothing broke", part, nil, 0, 0},
		{"cells that are missing otherwise", lacking, nil, 0, 2},
		{"a critical invariant broke", exits(t, map[string]outcome{"down/crit/1": red}), nil, 0, 1},
		{"a part in which something broke", exits(t, map[string]outcome{"down/crit/1": red, "down/low": notRun}), nil, 0, 1},
		{"what is not critical fails too", exits(t, map[string]outcome{"down/low/2": red}), nil, 0, 1},
		{"low is any", exits(t, map[string]outcome{"down/low/2": red}), nil, contract.Low, 1},
		{"at least", exits(t, map[string]outcome{"down/high/2": red}), nil, contract.High, 1},
		{"below failOn", exits(t, map[string]outcome{"down/high/2": red}), nil, contract.Critical, 0},
		{"without a fault it broke all the same", exits(t, map[string]outcome{"down/high/2": unprovoked}), nil, 0, 1},
		{"that is below failOn too", exits(t, map[string]outcome{"down/high/2": unprovoked}), nil, contract.Critical, 0},
		{"cells that are not kept broke too", counts, nil, 0, 1},
		{"and are below failOn", counts, nil, contract.Critical, 0},
		{"not decided", exits(t, map[string]outcome{"down/low/1": inconclusive("no answer")}), nil, 0, 2},
		{"no fault arrived", exits(t, map[string]outcome{"down/*": undelivered}), nil, 0, 2},
		{"broken comes before not decided", exits(t, map[string]outcome{"down/low/1": inconclusive("x"), "down/low/2": red}), nil, 0, 1},
		{"but for what is below failOn", exits(t, map[string]outcome{"down/low/1": inconclusive("x"), "down/low/2": red}), nil, contract.High, 2},
		{"a trial of a rate that was kept", &kept, nil, 0, 0},
		{"a rate that was rejected", rates, nil, contract.Critical, 1},
		{"a cancelled run is no part", cancelled, context.Canceled, 0, 2},
		{"nor one whose time was over", cancelled, fmt.Errorf("run: %w", context.DeadlineExceeded), 0, 2},
		{"no cell was chosen", noneRan, scoring.ErrNoneRan, 0, 2},
		{"a matrix that is wrong", nil, errors.Join(wrong, errors.New("more")), 0, 3},
		{"a filter that leaves nothing", nil, contract.ErrNothingSelected, 0, 3},
		{"neither report nor error", nil, nil, 0, 3},
		{"no severity", exits(t, nil), nil, 5, 3},
		{"a world that was not made", nil, errors.New("no database"), 0, 4},
		{"time-outs around the agent are no verdict", nil, context.DeadlineExceeded, 0, 4},
		{"a file that was not written", exits(t, nil), errors.New("disk full"), 0, 4},
		{"what broke comes before that", exits(t, map[string]outcome{"down/crit/1": red}), errors.New("disk full"), 0, 1},
		{"and before wrong use", exits(t, map[string]outcome{"down/crit/1": red}), wrong, 0, 1},
	} {
		assert.Equal(t, row.want, report.ExitCode(row.r, row.err, row.failOn), row.reason)
	}
	assert.Equal(t, 2, report.ExitCode(new(contract.Report), nil, 0), "a report of nothing is no pass")
}

func TestCell(t *testing.T) {
	r := exits(t, map[string]outcome{"down/crit/1": broken("it\x1b[31m broke", "Refunded.\n::error::x", lostReply(1))})
	show := func(cell string) string {
		i := slices.IndexFunc(r.Cells, func(c contract.CellReport) bool { return c.Cell.String() == cell })
		var b bytes.Buffer
		require.NoError(t, report.CellOf(&b, nil, &r.Cells[i]))
		return b.String()
	}
	out := show("down/crit/1")
	for _, part := range []string{"✗ down / crit / 1 (critical): broken\n", `why       it\x1b[31m broke`, "prompt    Refund order 1042",
		"answer    Refunded.", "faults    refund, call 1: lost_reply", "rerun     go run"} {
		assert.Contains(t, out, part)
	}
	assert.NotContains(t, out, "\n::", "no command of a CI system")
	held := show("calm/low/2")
	assert.True(t, strings.HasPrefix(held, "✓ calm / low / 2 (low): held\n"), held)
	assert.NotContains(t, held, "why")
	assert.ErrorContains(t, report.CellOf(&bytes.Buffer{}, nil, nil), "cell is nil")
}

func TestHeadAndEnd(t *testing.T) {
	r := exits(t, map[string]outcome{"down/crit/1": broken(`it has ,"sum":"x"}`, "no")})
	var b bytes.Buffer
	require.NoError(t, report.HeadAndEnd(&b, r))
	var got struct{ Head, End map[string]any }
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	assert.Equal(t, "run", got.Head["shakedown"])
	assert.Equal(t, true, got.End["end"])
	assert.Contains(t, got.End, "score")
	assert.NotContains(t, got.Head, "sum")
	assert.NotContains(t, got.End, "sum")
	assert.ErrorContains(t, report.HeadAndEnd(&b, nil), "nil")
}
