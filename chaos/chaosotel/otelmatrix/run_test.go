package otelmatrix_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosotel"
	"github.com/shakedown-go/shakedown/chaos/chaosotel/otelmatrix"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/search"
)

// desk is a matrix whose agent makes a span of its own around its tool, which a fault delays by an hour or makes fail.
func desk(tracer trace.Tracer, scenarios ...contract.Scenario) *contract.Matrix {
	look := chaos.Wrap("desk.look", func(context.Context, string) (string, error) { return "noon", nil })
	return &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
				ctx, span := tracer.Start(ctx, "execute_tool desk.look")
				defer span.End()
				time.Sleep(time.Minute)
				answer, err := look(ctx, prompt)
				if err != nil {
					span.RecordError(err)
				}
				return "it is " + answer, nil
			}}, nil
		},
		Prompts: []string{"What time is it?"}, Scenarios: scenarios, Seed: 9, Points: []string{"desk.look"},
		Invariants: []contract.Invariant{invariant.Contains("noon", contract.High, "noon"), invariant.Contains("says", contract.Low, "it is")},
	}
}

func slow() contract.Scenario {
	return contract.Under("slow", chaos.Rule{Target: "desk.look", Fault: fault.Delay(time.Hour)})
}

func down() contract.Scenario {
	return contract.Under("down", chaos.Rule{Target: "desk.look", Fault: fault.Fail(errors.New("down"))})
}

type recorded struct {
	*tracetest.SpanRecorder
	run    *otelmatrix.Run
	faults *chaosotel.Recorder
}

func start(t *testing.T) *recorded {
	r := &recorded{SpanRecorder: tracetest.NewSpanRecorder()}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.SpanRecorder))
	faults, err := chaosotel.New(&chaosotel.Options{Tracer: tracers, Meter: sdkmetric.NewMeterProvider()})
	require.NoError(t, err)
	r.faults, r.run = faults, otelmatrix.Start(t.Context(), "order desk", &otelmatrix.Options{Tracer: tracers})
	return r
}

// ended are the spans by name; each name is there once.
func (r *recorded) ended(t *testing.T) map[string]sdktrace.ReadOnlySpan {
	t.Helper()
	all := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range r.Ended() {
		if s.Name() == "execute_tool desk.look" {
			continue
		}
		assert.NotContains(t, all, s.Name())
		all[s.Name()] = s
	}
	return all
}

func values(list []attribute.KeyValue) map[string]any {
	all := map[string]any{}
	for _, a := range list {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

func TestTheRunOfAMatrixInVirtualTime(t *testing.T) {
	r, began := start(t), time.Now()
	report := contracttest.Run(t, desk(r.run.Tracer().Tracer("agent"), contract.Calm(), slow()), &contracttest.Options{
		OnRun: r.run.OnRun, OnCell: r.run.OnCell, OnEvent: r.faults.Record,
	})
	r.run.End(report)

	all := r.ended(t)
	require.Len(t, all, 1+4)
	suite := all["order desk"]
	assert.Equal(t, "success", values(suite.Attributes())["test.suite.run.status"])
	for _, name := range []string{"calm/noon/1", "calm/says/1", "slow/noon/1", "slow/says/1"} {
		cell := all[name]
		require.NotNil(t, cell, name)
		assert.Equal(t, suite.SpanContext().SpanID(), cell.Parent().SpanID(), name)
		own := values(cell.Attributes())
		assert.Equal(t, name, own["test.case.name"])
		assert.Equal(t, "pass", own["test.case.result.status"])
		took := time.Minute
		if name[0] == 's' {
			took += time.Hour
		}
		assert.WithinRange(t, cell.StartTime(), began, time.Now(), "real time, not the year 2000")
		assert.Equal(t, took, cell.EndTime().Sub(cell.StartTime()), "%s: the virtual time that it took", name)
		require.Len(t, cell.Events(), 1)
		judged := values(cell.Events()[0].Attributes)
		assert.Equal(t, "gen_ai.evaluation.result", cell.Events()[0].Name)
		assert.Equal(t, 1., judged["gen_ai.evaluation.score.value"])
		assert.Equal(t, "held", judged["gen_ai.evaluation.score.label"])
	}

	tools := 0
	for _, s := range r.Ended() {
		if s.Name() != "execute_tool desk.look" {
			continue
		}
		tools++
		var cell sdktrace.ReadOnlySpan
		for _, c := range all {
			if c.SpanContext().SpanID() == s.Parent().SpanID() {
				cell = c
			}
		}
		require.NotNil(t, cell, "a span of the agent is below that of its cell; the calm runs, which are no cells, have none")
		assert.Equal(t, cell.StartTime(), s.StartTime())
		assert.Equal(t, cell.EndTime(), s.EndTime())
		if cell.Name()[0] == 'c' {
			assert.Empty(t, s.Events())
			continue
		}
		require.Len(t, s.Events(), 1)
		assert.Equal(t, "latency", values(s.Events()[0].Attributes)["shakedown.fault.kind"])
		assert.Equal(t, cell.EndTime(), s.Events()[0].Time, "when the fault's wait was over")
		assert.Equal(t, int64(9), values(s.Events()[0].Attributes)["shakedown.fault.seed"])
	}
	assert.Equal(t, 4, tools)
}

func TestCellsThatBreakAndShare(t *testing.T) {
	for name, shared := range map[string]bool{"each cell its run": false, "cells that share": true} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			m := desk(r.run.Tracer().Tracer("agent"), down())
			m.ShareObservations = shared
			m.Invariants[0].Name = "breaks"
			report := contracttest.Run(t, m, &contracttest.Options{FailOn: contract.Critical, Explain: &search.Budget{}, Dir: "-",
				OnRun: r.run.OnRun, OnCell: r.run.OnCell})
			r.run.End(report)
			all := r.ended(t)
			require.Len(t, all, 3)
			broke := all["down/breaks/1"]
			assert.Equal(t, codes.Error, broke.Status().Code)
			assert.Equal(t, "fail", values(broke.Attributes())["test.case.result.status"])
			assert.Equal(t, int64(1), values(broke.Attributes())["shakedown.faults.delivered"])
			judged := values(broke.Events()[0].Attributes)
			assert.Equal(t, 0., judged["gen_ai.evaluation.score.value"])
			assert.Contains(t, judged["gen_ai.evaluation.explanation"], "noon")
			links := len(broke.Links()) + len(all["down/says/1"].Links())
			if shared {
				assert.Equal(t, 1, links, "the cell that was not asked first links to the run")
				assert.Equal(t, broke.StartTime(), all["down/says/1"].StartTime())
			} else {
				assert.Zero(t, links)
			}
		})
	}
}

// An OnRun that fails is the result of its cells.
func TestOnRunThatFails(t *testing.T) {
	for name, row := range map[string]struct {
		on   func(context.Context, contract.Cell) context.Context
		want string
	}{
		"it panics":          {func(context.Context, contract.Cell) context.Context { panic("boom") }, "OnRun failed: panic: boom"},
		"it returns nothing": {func(context.Context, contract.Cell) context.Context { return nil }, "OnRun failed: it returned no context"},
	} {
		t.Run(name, func(t *testing.T) {
			m := desk(noop.NewTracerProvider().Tracer(""), contract.Calm())
			report, err := m.Run(t.Context(), &contract.RunOptions{OnRun: row.on})
			require.NoError(t, err)
			for _, c := range report.Cells {
				assert.Equal(t, contract.Inconclusive, c.State)
				assert.Contains(t, c.Why, row.want)
			}
		})
	}
}

// What was left open when a run was cancelled ends with it; a report may be missing.
func TestARunThatEndsEarly(t *testing.T) {
	r := start(t)
	ctx := r.run.OnRun(t.Context(), contract.Cell{Scenario: "calm", Invariant: "noon", Trial: 1})
	assert.True(t, trace.SpanFromContext(ctx).IsRecording())
	r.run.OnCell(&contract.CellReport{Cell: contract.Cell{Scenario: "other", Invariant: "noon", Trial: 1}, State: contract.NotRun})
	r.run.End(nil)
	all := r.ended(t)
	require.Len(t, all, 2, "a cell that was not run has no span")
	assert.Equal(t, "aborted", values(all["order desk"].Attributes())["test.suite.run.status"])
	assert.Equal(t, "aborted", values(all["calm/noon/1"].Attributes())["test.case.result.status"])
}
