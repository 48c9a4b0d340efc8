package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// asProgram makes this test binary the program. Called with the argument for a
// service, it is one in any case.
const asProgram = "SHAKEDOWN_TEST_GAMEDAY"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == serveCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

// try runs the program in this process. Its services are still processes of their own, in real
// time: no two days are run at once, which would make each other's answers late.
func try(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestAWholeDay(t *testing.T) {
	dir := t.TempDir()
	status, out, errs := try(t, "-out", dir, "-fault", "700ms")
	assert.Equal(t, exitRecovered, status, out)
	assert.Empty(t, errs)
	r := readReport(t, dir)
	require.Len(t, r.Results, 4)
	byName := map[string]*result{}
	for i := range r.Results {
		byName[r.Results[i].Name] = &r.Results[i]
	}

	killed := byName[killStock]
	assert.Equal(t, recovered, killed.Verdict)
	assert.Subset(t, nodes(killed), []string{reserve, ordersPlace, placeOrder}, "an outage goes up to those who call")
	assert.Subset(t, affected(killed, timeline.Upstream, timeline.Failing), []string{ordersPlace, placeOrder})
	assert.Equal(t, "undo kill stock", killed.Journal.Rollbacks[0].Activity.Name)
	for _, i := range killed.Findings.Incidents {
		if i.Node == reserve {
			assert.NotNil(t, i.Recovery.RecoveryTs)
		}
	}

	if canPause() {
		assert.Equal(t, recovered, byName[pauseOrders].Verdict)
		assert.Subset(t, nodes(byName[pauseOrders]), []string{ordersPlace, placeOrder})
		assert.Contains(t, affected(byName[pauseOrders], timeline.Downstream, unasked...), reserve, "nobody asks it any more")
	}
	assert.Contains(t, nodes(byName[slowGateway]), placeOrder)
	require.NotEmpty(t, byName[slowGateway].Findings.Incidents)
	assert.Equal(t, timeline.LatencyP95, byName[slowGateway].Findings.Incidents[0].Metric)
	assert.Equal(t, recovered, byName[gatewayCutOff].Verdict)
	assert.Subset(t, affected(byName[gatewayCutOff], timeline.Downstream, unasked...), []string{ordersPlace, reserve})

	edges := map[string]bool{}
	for _, e := range r.Graph.Edges {
		edges[e.From+" "+e.To] = true
	}
	for _, edge := range []string{"agent gateway.order", "gateway.order orders.place", "orders.place stock.reserve", "gateway.status orders.status"} {
		assert.Contains(t, edges, edge)
	}
	assert.NotContains(t, edges, "agent stock.reserve", "each call is told of by whoever made it")
	assert.True(t, r.Detect.Defined())
	assert.Less(t, float64(r.Detect), float64(r.Recover))
	require.Equal(t, placeOrder, r.Budgets[0].Node)
	assert.Greater(t, float64(r.Budgets[0].Consumed), 1.0)
	faults := map[string]bool{}
	for _, f := range r.Faults {
		faults[f.Node+" "+f.Fault] = true
	}
	assert.Equal(t, map[string]bool{
		"gateway.order latency": true, "gateway.status latency": true,
		"gateway.order network_partition": true, "gateway.status network_partition": true,
	}, faults)

	checkFiles(t, dir)
	checkResumed(t, dir)
}

func readReport(t *testing.T, dir string) *report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	r := new(report)
	require.NoError(t, json.Unmarshal(text, r))
	return r
}

func nodes(r *result) (names []string) {
	for _, i := range r.Findings.Incidents {
		names = append(names, i.Node)
	}
	return names
}

// unasked is how a node is affected that gets no calls any more. A machine too busy to answer
// in time makes the last of its calls fail, which is what the node is then reported for.
var unasked = []string{timeline.Starved, timeline.Failing}

func affected(r *result, direction string, how ...string) (names []string) {
	for _, a := range r.Findings.Impact.Affected {
		if a.Direction == direction && slices.Contains(how, a.How) {
			names = append(names, a.Node)
		}
	}
	return names
}

func checkFiles(t *testing.T, dir string) {
	t.Helper()
	for _, name := range append(names(), "timeline") {
		svg, err := os.Open(filepath.Join(dir, name+".svg"))
		if name == pauseOrders && !canPause() {
			continue
		}
		require.NoError(t, err)
		defer svg.Close()
		for d := xml.NewDecoder(svg); ; {
			if _, err = d.Token(); err != nil {
				break
			}
		}
		assert.ErrorIs(t, err, io.EOF, name)
	}
	f, err := os.Open(filepath.Join(dir, "samples.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	recording, err := trace.ReadLines(f, nil)
	require.NoError(t, err)
	assert.Greater(t, len(recording.Samples), 100)
	text, err := os.ReadFile(filepath.Join(dir, "report.txt"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "times the error budget")
}

// A day that is over is shown again, and nothing is run.
func checkResumed(t *testing.T, dir string) {
	t.Helper()
	status, out, errs := try(t, "-resume", "-out", dir)
	assert.Equal(t, exitRecovered, status)
	assert.Empty(t, errs)
	assert.NotContains(t, out, "process ")
	assert.Contains(t, out, "kill-stock: finished before\n")

	status, _, errs = try(t, "-out", dir)
	assert.Equal(t, exitError, status)
	assert.Contains(t, errs, "has results of another day; allowed: a new folder, or -resume")
}

func TestADayThatDoesNotRecover(t *testing.T) {
	status, out, errs := try(t, "-out", t.TempDir(), "-fault", "300ms", "-no-restart", "-only", killStock)
	assert.Equal(t, exitNotRecovered, status)
	assert.Empty(t, errs)
	assert.Contains(t, out, "after the rollbacks: missed (an order goes through, stock accepts connections")
	assert.Contains(t, out, "=> NOT RECOVERED")
}

func TestDry(t *testing.T) {
	status, out, errs := try(t, "-dry", "-fault", "3s")
	assert.Equal(t, exitRecovered, status)
	assert.Empty(t, errs)
	assert.True(t, strings.HasPrefix(out, `kill-stock: The stock service is killed, and started again by the rollback.
  before, after, and 1s after the rollbacks: an order goes through, stock accepts connections, 90 % of calls good within 400ms, stock lives, orders lives, gateway lives
  action: kill stock, wait 3s, undo it
  at most 11s
pause-orders: `), out)
	assert.Contains(t, out, "\n  action: pause orders for 3s, undo it\n")
	assert.Contains(t, out, "\n  action: cut customers off, wait 3s, undo it\n")

	_, out, _ = try(t, "-dry", "-only", slowGateway)
	assert.True(t, strings.HasPrefix(out, "slow-gateway: "), out)
	assert.NotContains(t, out, "gateway-cut-off")
}

func TestAllBadFlagsAtOnce(t *testing.T) {
	status, out, errs := try(t, "-seed", "-3", "-only", "flood", "now", "-fault", "1m", "-sed", "-resume")
	assert.Equal(t, exitError, status)
	assert.Empty(t, out)
	assert.Equal(t, `gameday: invalid value "-3" for flag -seed: allowed: 0 to 18446744073709551615
gameday: invalid value "flood" for flag -only: allowed: kill-stock, pause-orders, slow-gateway, gateway-cut-off
gameday: unexpected argument "now"; allowed: flags
gameday: invalid value "1m" for flag -fault: allowed: 300ms to 5s
gameday: flag provided but not defined: -sed
gameday: -resume without -out; allowed: with the folder of the day to go on with
gameday: -help lists the flags
`, errs)
}

func TestAFolderThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	status, _, errs := try(t, "-out", file)
	assert.Equal(t, exitError, status)
	assert.Contains(t, errs, "gameday: -out: ")
}

func TestHelp(t *testing.T) {
	status, out, errs := try(t, "-help")
	assert.Equal(t, exitRecovered, status)
	assert.Empty(t, errs)
	for _, flag := range []string{"-seed number", "-out folder", "-only name", "-dry", "-resume", "-fault time", "-no-restart"} {
		assert.Contains(t, out, "  "+flag)
	}
}

func TestJudge(t *testing.T) {
	met, missed := &experiment.SteadyState{Met: true}, &experiment.SteadyState{}
	for _, row := range []struct {
		reason   string
		status   experiment.Status
		deviated bool
		before   *experiment.SteadyState
		after    *experiment.SteadyState
		want     verdict
	}{
		{"nothing was missed", experiment.Completed, false, met, met, held},
		{"missed, and back", experiment.Completed, true, met, met, recovered},
		{"a probe failed, and is back", experiment.Failed, true, met, met, recovered},
		{"missed, and not back", experiment.Completed, true, met, missed, notRecovered},
		{"nobody has looked", experiment.Completed, true, met, nil, notRecovered},
		{"sick to begin with", experiment.Failed, true, missed, nil, notSteady},
		{"a guard", experiment.Aborted, false, met, met, stopped},
	} {
		j := &experiment.Journal{Status: row.status, Deviated: row.deviated}
		j.SteadyStates.Before, j.SteadyStates.Recovered = row.before, row.after
		assert.Equal(t, row.want, judge(j), row.reason)
	}
	for v, good := range map[verdict]bool{held: true, recovered: true, skipped: true, notRecovered: false, notSteady: false, stopped: false} {
		assert.Equal(t, good, v.good(), v)
		d := &day{results: []result{{Verdict: held}, {Verdict: v}}}
		assert.Equal(t, map[bool]int{true: exitRecovered, false: exitNotRecovered}[good], d.status(), v)
	}
}

func TestTimesToDetectAndToRecover(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	incident := func(from, to int) (i incident) {
		i.StartTs, i.EndTs = at.Add(time.Duration(from)*time.Second), at.Add(time.Duration(to)*time.Second)
		return i
	}
	f := nothing()
	f.Injected = at
	f.time(time.Second, true)
	assert.False(t, f.Detect.Defined(), "nothing was to be seen")
	f.Incidents = append(f.Incidents, incident(3, 6), incident(2, 4))
	f.time(time.Second, true)
	assert.Equal(t, timeline.Value(2+minBins), f.Detect)
	assert.Equal(t, timeline.Value(6), f.Recover)
	f = findings{Injected: at, Incidents: f.Incidents, Recover: undefined()}
	f.time(time.Second, false)
	assert.False(t, f.Recover.Defined(), "it is not over")
}
