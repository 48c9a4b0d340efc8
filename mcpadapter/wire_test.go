package mcpadapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// What the tools answer, member by member. The clock is that of the bubble, so
// that times are texts that can be written down: it is midnight, UTC, of
// 2000-01-01. Each step is a call on the same server, in this order.
func TestTheWire(t *testing.T) {
	const (
		inject, status, experiments = "chaos_inject_fault", "chaos_status", "chaos_run_experiment"
		quarter                     = `"in_force":true,"expires_at":"2000-01-01T00:15:00Z"`
	)
	active := func(faults string) string {
		return `{"active_faults":[` + faults + `],"registered_experiments":3,"experiments":["bad action","panics","slow database"],"total_runs":0,"success_rate":0,"cut_off":[]}`
	}
	steps := []struct{ why, tool, args, want string }{
		{"empty lists are [], numbers are there", status, `{}`, active("")},
		{"results only when they are asked for", status, `{"include_results":true,"experiment_name":"no such"}`,
			`{"active_faults":[],"registered_experiments":3,"experiments":["bad action","panics","slow database"],"results":[],"total_runs":0,"success_rate":0,"cut_off":[]}`},
		{"register: the defaults", inject, `{"fault_name":"orders.get","action":"register","fault_type":"error"}`,
			`{"status":"registered","fault_name":"orders.get","fault_type":"error","matched_targets":["orders.get"],"probability":0.1,` + quarter + `}`},
		{"register overwrites", inject, `{"fault_name":"orders.get","action":"register","fault_type":"error","probability":1}`,
			`{"status":"registered","fault_name":"orders.get","fault_type":"error","matched_targets":["orders.get"],"probability":1,` + quarter + `}`},
		{"inject: a fired error is no failure of the call", inject, `{"fault_name":"orders.get","action":"inject"}`,
			`{"status":"injected","fault_name":"orders.get","fault_type":"error","was_triggered":true,"injected_error":"service unavailable","matched_targets":["orders.get"],"probability":1,` + quarter + `}`},
		{"probability 0 is legal, and never fires", inject, `{"fault_name":"f","action":"register","fault_type":"timeout","probability":0,"target":"*","expires_seconds":1.5}`,
			`{"status":"registered","fault_name":"f","fault_type":"timeout","matched_targets":["orders.get","payments.refund"],"probability":0,"in_force":true,"expires_at":"2000-01-01T00:00:01.5Z"}`},
		{"inject that was not drawn", inject, `{"fault_name":"f","action":"inject"}`,
			`{"status":"injected","fault_name":"f","fault_type":"timeout","was_triggered":false,"matched_targets":["orders.get","payments.refund"],"probability":0,"in_force":true,"expires_at":"2000-01-01T00:00:01.5Z"}`},
		{"faults are listed in order, with their own kind", status, `{}`,
			active(`{"name":"of the host","fault_type":"lost_reply","probability":1,"in_force":true,"expires_at":null},` +
				`{"name":"orders.get","fault_type":"error","probability":1,` + quarter + `},` +
				`{"name":"f","fault_type":"timeout","probability":0,"in_force":true,"expires_at":"2000-01-01T00:00:01.5Z"}`)},
		{"remove names the kind it removed", inject, `{"fault_name":"f","action":"remove"}`, `{"status":"removed","fault_name":"f","fault_type":"timeout","expires_at":null}`},
		{"remove of an unknown fault succeeds, without a fault_type, and says so", inject, `{"fault_name":"f","action":"remove"}`,
			`{"status":"removed","fault_name":"f","expires_at":null,"note":"No fault is called \"f\", so nothing was removed. Registered: of the host, orders.get."}`},
		{"a target that matches nothing", inject, `{"fault_name":"nothing","action":"register","fault_type":"latency"}`,
			`{"status":"registered","fault_name":"nothing","fault_type":"latency","matched_targets":[],"probability":0.1,` + quarter + `,` +
				`"note":"\"nothing\" matches none of the 2 known injection points, so it is injected nowhere now. Known: orders.get, payments.refund."}`},
		{"disarm answers what was there", "chaos_disarm", `{}`,
			`{"status":"disarmed","active_faults":[{"name":"of the host","fault_type":"lost_reply","probability":1,"in_force":true,"expires_at":null},` +
				`{"name":"orders.get","fault_type":"error","probability":1,` + quarter + `},{"name":"nothing","fault_type":"latency","probability":0.1,` + quarter + `}]}`},
		{"disarm again", "chaos_disarm", `{}`, `{"status":"disarmed","active_faults":[]}`},

		{"an experiment", experiments, `{"experiment_name":"slow database"}`,
			`{"experiment_name":"slow database","success":true,"steady_state_before":true,"steady_state_after":true,"steady_state_recovered":true,"duration_seconds":0,"error":null,"started_at":"2000-01-01T00:00:00Z"}`},
		{"its action fails", experiments, `{"experiment_name":"bad action"}`,
			`{"experiment_name":"bad action","success":true,"steady_state_before":true,"steady_state_after":true,"steady_state_recovered":true,"duration_seconds":0,"error":"Action failed: connection refused","started_at":"2000-01-01T00:00:00Z"}`},
		{"a dry run checks once", experiments, `{"experiment_name":"bad action","dry_run":true}`,
			`{"experiment_name":"bad action","success":true,"steady_state_before":true,"steady_state_after":true,"duration_seconds":0,"error":null,"started_at":"2000-01-01T00:00:00Z"}`},
		{"which is not in the history; the filter narrows", status, `{"include_results":true,"experiment_name":"bad action"}`,
			`{"active_faults":[],"registered_experiments":3,"experiments":["bad action","panics","slow database"],"results":[` +
				`{"experiment_name":"bad action","success":true,"steady_state_before":true,"steady_state_after":true,"steady_state_recovered":true,"duration_seconds":0,"error":"Action failed: connection refused","started_at":"2000-01-01T00:00:00Z"}` +
				`],"total_runs":1,"success_rate":1,"cut_off":[]}`},

		{"an unknown fault", inject, `{"fault_name":"f","action":"inject"}`, `{"status":"error","fault_name":"f","expires_at":null,"problem":{"status":404,"code":"not_found"}}`},
		{"an unknown fault_type is not repeated", inject, `{"fault_name":"f","action":"register","fault_type":"fire"}`, `{"status":"error","fault_name":"f","expires_at":null,"problem":{"status":400,"code":"invalid_arguments"}}`},
		{"an unknown action", inject, `{"fault_name":"f","action":"burn","fault_type":"error"}`, `{"status":"error","fault_name":"f","fault_type":"error","expires_at":null,"problem":{"status":400,"code":"invalid_arguments"}}`},
		{"an empty name", inject, `{"fault_name":"","action":"remove"}`, `{"status":"error","fault_name":"","expires_at":null,"problem":{"status":400,"code":"invalid_arguments"}}`},
		{"a negative duration", inject, `{"fault_name":"f","action":"register","fault_type":"latency","duration_seconds":-1}`, `{"status":"error","fault_name":"f","fault_type":"latency","expires_at":null,"problem":{"status":400,"code":"invalid_arguments"}}`},
		{"a probability above 1", inject, `{"fault_name":"f","action":"register","fault_type":"latency","probability":1.1}`, `{"status":"error","fault_name":"f","fault_type":"latency","expires_at":null,"problem":{"status":400,"code":"invalid_arguments"}}`},
		{"a time limit of 0, where the host does not allow it", inject, `{"fault_name":"f","action":"register","fault_type":"latency","expires_seconds":0}`, `{"status":"error","fault_name":"f","fault_type":"latency","expires_at":null,"problem":{"status":400,"code":"invalid_arguments"}}`},
		{"an unknown experiment", experiments, `{"experiment_name":"f"}`, `{"status":404,"code":"not_found"}`},
	}
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		c := legacy(t, serverOf(t, s.host, nil), nil)
		for i, step := range steps {
			if i == 2 { // not before it was shown what there is without
				require.NoError(t, s.host.Injector.Register(chaos.Rule{Name: "of the host", Target: "payments.*", When: when.Nth(1_000_000), Fault: fault.LoseReply()}))
			}
			res := ask(t, c, step.tool, step.args)
			out, err := json.Marshal(res.StructuredContent)
			require.NoError(t, err)
			if res.IsError {
				out = worded.ReplaceAll(out, nil)
			} else {
				assert.JSONEq(t, string(out), textIn(t, res), step.why)
			}
			assert.JSONEq(t, step.want, string(out), step.why)
		}
	})
}

// worded are the members of a problem that are in words.
var worded = regexp.MustCompile(`"(detail|hint)":"(\\.|[^"\\])*",?|,"(detail|hint)":"(\\.|[^"\\])*"`)

// total_runs counts what was executed, not what the bounded history kept.
func TestTotalRunsCountsWhatIsKeptNoMore(t *testing.T) {
	lab := gameday.NewLab(&gameday.LabOptions{History: gameday.NewHistory(3)})
	require.NoError(t, lab.Register(experimentOf("a", nil), experimentOf("b", nil)))
	c := clientOf(t, serverOf(t, Host{Name: "h", Experiments: lab}, nil), nil)
	for i := range 10 {
		answer[experiment.Result](t, c, "chaos_run_experiment", fmt.Sprintf(`{"experiment_name":"%s"}`, []string{"a", "a", "b"}[i%3]))
	}
	for name, want := range map[string][2]int{``: {10, 3}, `,"experiment_name":"a"`: {7, 2}, `,"experiment_name":"b"`: {3, 1}} {
		status := answer[statusOutput](t, c, "chaos_status", `{"include_results":true`+name+`}`)
		assert.Equal(t, want, [2]int{status.TotalRuns, len(status.Results)}, name)
		assert.Equal(t, 1.0, status.SuccessRate, name)
		assert.EqualValues(t, 7, status.Dropped, name)
	}
}

// An experiment that an earlier process did not end is named at the start and
// by chaos_status.
func TestAnExperimentThatWasCutOffIsNamed(t *testing.T) {
	path := t.TempDir() + "/history.json"
	h, err := gameday.OpenHistory(path, 0)
	require.NoError(t, err)
	_, err = h.Begin("slow database")
	require.NoError(t, err)
	h, err = gameday.OpenHistory(path, 0)
	require.NoError(t, err)
	var log lines
	lab := gameday.NewLab(&gameday.LabOptions{History: h})
	require.NoError(t, lab.Register(experimentOf("slow database", errors.New("x"))))
	c := clientOf(t, serverOf(t, Host{Name: "h", Experiments: lab}, &Options{Log: slog.New(slog.NewTextHandler(&log, nil))}), nil)
	assert.Contains(t, log.String(), `msg="an experiment was cut off; it may not have been rolled back" experiment="slow database"`)
	cut := answer[statusOutput](t, c, "chaos_status", `{}`).CutOff
	require.Len(t, cut, 1)
	assert.Equal(t, "slow database", cut[0].Name)
	assert.WithinDuration(t, time.Now(), cut[0].StartedAt, time.Hour)
}
