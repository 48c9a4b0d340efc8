package contract_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/contract"
)

// A fault of a body shows only to an agent that reads it. One that leaves the body alone
// made a call all the same, and the cell says what it did not do.
func TestABodyThatTheAgentLeavesAloneIsNamed(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(body io.ReadCloser)
		why  string
	}{
		{"neither read nor closed", func(io.ReadCloser) {},
			"no fault was delivered: 1 injected and changed nothing (the answer was neither read to its end nor closed)"},
		{"read in part", func(body io.ReadCloser) { _, _ = body.Read(make([]byte, 1)) },
			"no fault was delivered: 1 injected and changed nothing (the answer was neither read to its end nor closed)"},
		{"closed", func(body io.ReadCloser) { _ = body.Close() }, "no fault was delivered: 1 injected and changed nothing"},
	} {
		agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			server := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "noon, as every day")
			}))
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://clock.example/now", nil)
			if err != nil {
				return "", err
			}
			resp, err := chaoshttp.NewTransport(server, nil).RoundTrip(req)
			if err != nil {
				return "", err
			}
			tt.end(resp.Body)
			return "noon, surely", nil
		}
		m := matrix(t, agent, func(m *contract.Matrix) {
			m.Scenarios = []contract.Scenario{{Name: "s", Rules: []chaos.Rule{{Target: "GET *", Fault: chaoshttp.CutBody(4)}}}}
			m.Invariants = []contract.Invariant{holds("i", contract.High)}
		})
		c := run(t, m, nil).Cells[0]
		assert.Equal(t, contract.Undelivered, c.State, tt.name)
		assert.Equal(t, tt.why, c.Why, tt.name)
	}
}
