package incident_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// shop has three tools; its workload calls each once a second, for a minute.
func shop(context.Context) (*contract.World, error) {
	var tools []chaos.ToolFunc
	for _, name := range []string{"orders", "stock", "refund"} {
		tools = append(tools, chaos.Func(chaos.Tool{Name: name}, func(context.Context, struct{}) (string, error) { return "done", nil }))
	}
	registry, err := chaos.NewRegistry(tools...)
	return &contract.World{Tools: registry}, err
}

func workload(ctx context.Context, tools chaos.ToolRegistry) error {
	var all []error
	for range 60 {
		for _, name := range []string{"orders", "stock", "refund"} {
			_, err := tools.CallTool(ctx, name, json.RawMessage(`{}`))
			all = append(all, err)
		}
		time.Sleep(time.Second)
	}
	return errors.Join(all...)
}

// detective finds the tool whose calls failed, from the events alone. A lazy
// one blames the first that was called.
func detective(lazy bool, armed func() time.Time) func([]chaos.Event) incident.Agent {
	return func(events []chaos.Event) incident.Agent {
		return incident.AgentFunc(func(_ context.Context, job incident.Job) error {
			var culprit chaos.Event
			var last time.Duration
			for _, e := range events {
				if e.Outcome == chaos.OutcomeInjected || lazy {
					if culprit.Target == "" {
						culprit = e
					}
					last = e.End
				}
			}
			at := func(d time.Duration) string { return armed().Add(d).UTC().Format(time.RFC3339) }
			return writeReport(job, fmt.Sprintf("# Investigation\n\n## Root Cause\n\n%s failed.\n\n- **Target**: `%s`\n- Kind: %s\n- Since: %s\n- Until: %s\n\n%s",
				culprit.Target, culprit.Target, job.Incident.FaultType, at(culprit.Start), at(last), strings.Repeat("evidence ", 20)))
		})
	}
}

func triage(lazy bool, scenarios ...contract.Scenario) *contract.Matrix {
	return &contract.Matrix{
		NewWorld: func(ctx context.Context) (*contract.World, error) {
			w, err := shop(ctx)
			armed := time.Now() // the cell's world is made when its clock starts
			w.Agent = incident.ContractAgent(&incident.TriageOptions{
				Workload: workload, Agent: detective(lazy, func() time.Time { return armed }), Withhold: true,
			})
			return w, err
		},
		Prompts:    []string{"What happened?"},
		Invariants: []contract.Invariant{incident.FindsRootCause("finds-the-cause", contract.Critical, 2*time.Second)},
		Scenarios:  scenarios,
		Timeout:    time.Hour,
	}
}

func outageOf(target string) contract.Scenario {
	return contract.Scenario{Name: target + "-down", Rules: []chaos.Rule{{Name: "outage", Target: target,
		When: when.Between(20*time.Second, 40*time.Second), Fault: fault.Fail(fault.ErrUnavailable)}}}
}

// TestWithholding: nothing in the incident says which tool it is, not the
// namespace of a tool without one, nor the name of the cell.
func TestWithholding(t *testing.T) {
	for target, namespace := range map[string]string{"refund": "", "payments.refund": "payments"} {
		tool := chaos.Func(chaos.Tool{Name: target}, func(context.Context, struct{}) (string, error) { return "done", nil })
		var given incident.Incident
		m := &contract.Matrix{
			NewWorld: func(context.Context) (*contract.World, error) {
				registry, err := chaos.NewRegistry(tool)
				return &contract.World{Tools: registry, Agent: incident.ContractAgent(&incident.TriageOptions{
					Withhold: true,
					Workload: func(ctx context.Context, tools chaos.ToolRegistry) error {
						_, err := tools.CallTool(ctx, target, json.RawMessage(`{}`))
						return err
					},
					Agent: func([]chaos.Event) incident.Agent {
						return incident.AgentFunc(func(_ context.Context, job incident.Job) error {
							given = job.Incident
							return writeReport(job, goodReport)
						})
					},
				})}, err
			},
			Prompts:    []string{"What happened?"},
			Invariants: []contract.Invariant{incident.FindsRootCause("finds-the-cause", contract.Critical, time.Second)},
			Scenarios:  []contract.Scenario{{Name: target + "-down", Rules: []chaos.Rule{{Name: "outage", Target: target, Fault: fault.Fail(fault.ErrUnavailable)}}}},
		}
		synctest.Test(t, func(t *testing.T) {
			_, err := m.Run(context.Background(), nil)
			require.NoError(t, err)
		})
		assert.Equal(t, "error", given.FaultType)
		assert.Equal(t, namespace, given.Namespace)
		given.Namespace = ""
		doc, err := json.Marshal(given)
		require.NoError(t, err)
		assert.NotContains(t, string(doc), "refund")
	}
}

// TestATriageAgentUnderContract moves the fault from tool to tool: the one who
// looks finds it each time, the one who guesses does not.
func TestATriageAgentUnderContract(t *testing.T) {
	scenarios := []contract.Scenario{outageOf("orders"), outageOf("stock"), outageOf("refund")}
	report := contracttest.Run(t, triage(false, scenarios...), nil)
	contracttest.AssertPassed(t, report)
	assert.Equal(t, 3, report.Score.Passed)
}

func TestALazyTriageAgentBreaksTheContract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, err := triage(true, outageOf("stock")).Run(context.Background(), nil)
		require.NoError(t, err)
		require.Len(t, report.Cells, 1)
		assert.Equal(t, contract.Broken, report.Cells[0].State)
		assert.Contains(t, report.Cells[0].Why, `target is "orders", injected was ["stock"]`)
	})
}
