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
	assert.Contains(t, killed, "=> RECOVERED")
	assert.Contains(t, killed, "with the fault: missed (an order goes through, stock accepts connections")
	assert.Contains(t, part(t, out, gatewayCutOff), "=> RECOVERED")
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

func TestRecovered(t *testing.T) {
	met, missed := &experiment.SteadyState{Met: true}, &experiment.SteadyState{}
	for _, row := range []struct {
		reason string
		status experiment.Status
		after  *experiment.SteadyState
		want   bool
	}{
		{"it is back", experiment.Completed, met, true},
		{"a probe failed, and is back", experiment.Failed, met, true},
		{"missed, and not back", experiment.Completed, missed, false},
		{"nobody has looked, as where it was missed from the start", experiment.Failed, nil, false},
		{"a limit", experiment.Aborted, met, false},
	} {
		j := &experiment.Journal{Status: row.status, SteadyStates: experiment.SteadyStates{Recovered: row.after}}
		d := &day{results: []result{{Journal: j}}}
		assert.Equal(t, row.want, d.status() == exitRecovered, row.reason)
	}
}
