package contract_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// TestWarningAboutPorts: draws do not depend on one port of this machine. They do on a
// second one, which the system may choose anew in each run.
func TestWarningAboutPorts(t *testing.T) {
	for _, tc := range []struct {
		why   string
		calls []string
		warns string
	}{
		{"one server", []string{"GET 127.0.0.1:40001/a", "POST 127.0.0.1:40001/b"}, ""},
		{"two servers", []string{"GET 127.0.0.1:40001/a", "GET localhost:40002/b"}, "localhost:40002"},
		{"two ports that someone chose", []string{"GET 127.0.0.1:8080/a", "GET 127.0.0.1:9090/b"}, ""},
		{"a name and a port", []string{"GET orders/a", "GET 127.0.0.1:40001/b"}, ""},
		{"on other machines", []string{"GET 10.0.0.1:40001/a", "GET 10.0.0.2:40002/b"}, ""},
	} {
		agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			for _, target := range tc.calls {
				_ = chaos.Point(ctx, target)
			}
			return "done", nil
		}
		for _, rules := range [][]chaos.Rule{nil, {down("r", "GET *", when.Prob(0.5))}} {
			m := matrix(t, agent, func(m *contract.Matrix) {
				m.Trials = 3
				m.Scenarios = []contract.Scenario{{Name: "s", Rules: rules, AllowUndelivered: true}}
			})
			var want []string
			if tc.warns != "" && rules != nil {
				want = []string{fmt.Sprintf("The names of injection points hold ports that change from run to run, and what is drawn for them changes too: "+
					"in s/held/1 the calls went to 127.0.0.1:40001 and %s. Give each server a name (chaoshttp.Options.Name).", tc.warns)}
			}
			assert.Equal(t, want, run(t, m, &contract.RunOptions{Workers: 1}).Warnings, tc.why)
		}
	}
}
