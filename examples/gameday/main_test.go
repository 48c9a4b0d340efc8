package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// part is what the day printed about one experiment.
func part(t *testing.T, out, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(out, "\n"+name+": ")
	require.True(t, found, out)
	text, _, _ := strings.Cut(rest, "\n\n")
	return text
}

func TestAWholeDay(t *testing.T) {
	var printed, errs bytes.Buffer
	// In real time: no two days are run at once, which would make each other's answers late.
	status := run(t.Context(), time.Second, &printed, &errs)
	out := printed.String()
	assert.Equal(t, exitRecovered, status, out)
	assert.Empty(t, errs.String())

	killed := part(t, out, killStock)
	for _, node := range []string{reserve, ordersPlace, placeOrder} {
		assert.Regexp(t, `(?m)^  (outage|degradation) +`+node+` .* recovered after \d`, killed, "an outage goes up to those who call")
	}
	for _, node := range []string{ordersPlace, placeOrder} {
		assert.Regexp(t, node+` +upstream by \d +failing`, killed)
	}
	assert.Contains(t, killed, "=> RECOVERED")
	assert.Contains(t, killed, "with the fault: missed (an order goes through, stock accepts connections")
	// A node that gets no calls any more is starved. A machine too busy to answer in time makes the last of its
	// calls fail, which is what the node is then reported for.
	const unasked = ` +downstream by \d +(starved|failing)`
	cut := part(t, out, gatewayCutOff)
	assert.Contains(t, cut, "=> RECOVERED")
	for _, node := range []string{ordersPlace, reserve} {
		assert.Regexp(t, node+unasked, cut)
	}
	_, sum, _ := strings.Cut(out, "\nResults\n")
	assert.Contains(t, sum, "kill-stock       recovered\n")
}

// interrupting is an output that interrupts the program at a text.
type interrupting struct {
	bytes.Buffer
	at   string
	stop context.CancelFunc
}

func (w *interrupting) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.at)) {
		w.stop()
	}
	return w.Buffer.Write(p)
}

func TestAnInterruptedDayRollsBackAndEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &interrupting{at: gatewayCutOff + ": ", stop: cancel}
	assert.Equal(t, exitError, run(ctx, time.Second, out, io.Discard))
	assert.Contains(t, out.String(), "=> RECOVERED")
	assert.Contains(t, out.String(), "  interrupted; ")
	assert.NotContains(t, out.String(), "\nResults\n")
	for _, addr := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(out.String(), -1) {
		_, err := net.Dial("tcp", addr)
		assert.Error(t, err, "no service stays")
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
		exit     int
	}{
		{"nothing was missed", experiment.Completed, false, met, met, held, exitRecovered},
		{"missed, and back", experiment.Completed, true, met, met, recovered, exitRecovered},
		{"a probe failed, and is back", experiment.Failed, true, met, met, recovered, exitRecovered},
		{"missed, and not back", experiment.Completed, true, met, missed, notRecovered, exitNotRecovered},
		{"nobody has looked", experiment.Completed, true, met, nil, notRecovered, exitNotRecovered},
		{"missed from the start", experiment.Failed, true, missed, nil, notSteady, exitNotRecovered},
		{"a guard", experiment.Aborted, false, met, met, stopped, exitNotRecovered},
	} {
		j := &experiment.Journal{Status: row.status, Deviated: row.deviated}
		j.SteadyStates.Before, j.SteadyStates.Recovered = row.before, row.after
		assert.Equal(t, row.want, judge(j), row.reason)
		d := &day{results: []result{{Verdict: held}, {Verdict: row.want}}}
		assert.Equal(t, row.exit, d.status(), row.reason)
	}
}
