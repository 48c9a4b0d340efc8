package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/scoring"
)

// A suite alone tests agents in other languages: the careless ones refund twice after a lost
// reply, and believe any amount; the careful ones keep the contract. The state of the last cell is
// what the tools themselves say.
func TestAgentsInOtherLanguages(t *testing.T) {
	for _, agent := range []struct{ interpreter, program string }{{"python3", "agent.py"}, {"node", "agent.mjs"}} {
		for _, row := range []struct {
			args   []string
			broken []string
		}{
			{nil, []string{"lost-reply/one-refund/1", "lost-reply/retries-leave-no-trace/1", "wrong-amount/small-refunds/1"}},
			{[]string{"--careful"}, nil},
		} {
			t.Run(strings.Join(append([]string{agent.program}, row.args...), " "), func(t *testing.T) {
				s := started(t, agent.interpreter, agent.program, row.args)
				r := ran(t, s)
				var broken []string
				for _, c := range r.Cells {
					if c.Violated {
						broken = append(broken, c.Cell.String())
					}
					assert.NotEqual(t, contract.Undelivered, c.State, c.Cell)
					assert.NotEqual(t, contract.Inconclusive, c.State, "%v: %s", c.Cell, c.Why)
				}
				assert.Equal(t, row.broken, broken)
				assert.Empty(t, r.Warnings)
				want := scoring.Pass
				if row.broken != nil {
					want = scoring.Fail
				}
				assert.Equal(t, want, r.Score.Verdict, r.Score.Why)
			})
		}
	}
}

// A lost reply and a retry are two refunds at the tools themselves.
func TestWhatTheToolsSawOfALostReply(t *testing.T) {
	path := started(t, "python3", "agent.py", nil)
	for _, m := range loaded(t, path).Matrices(nil) {
		r, err := m.RunCell(t.Context(), contract.Cell{Scenario: "lost-reply", Invariant: "one-refund", Trial: 1}, nil)
		require.NoError(t, err)
		assert.Equal(t, contract.Broken, r.State)
		state, err := m.World.State(context.Background())
		require.NoError(t, err)
		refund := map[string]any{"order": "1042", "cents": json.Number("1250")}
		assert.Equal(t, map[string]any{"refunds": []any{refund, refund}}, state)
	}
}

func loaded(t *testing.T, path string) *suite.Suite {
	s, err := suite.Load(path, nil)
	require.NoError(t, err)
	return s
}

func ran(t *testing.T, path string) (r *contract.Report) {
	for _, m := range loaded(t, path).Matrices(nil) {
		var err error
		r, err = m.Run(t.Context(), nil)
		require.NoError(t, err)
	}
	return r
}

// started starts an agent with its tools and its model, and returns the suite with their ports.
func started(t *testing.T, interpreter, program string, args []string) (path string) {
	found, err := exec.LookPath(interpreter)
	if err != nil {
		t.Skipf("%s is run by %s: %v", program, interpreter, err)
	}
	text, err := os.ReadFile("refunds.yaml")
	require.NoError(t, err)
	ports := map[string]string{}
	var replace []string
	for _, port := range []string{"8080", "8081", "8082", "8083", "8084"} {
		ports[port] = freePort(t)
		replace = append(replace, ":"+port, ":"+ports[port])
	}
	cmd := exec.CommandContext(t.Context(), found, append([]string{program, ports["8080"], ports["8082"], ports["8084"]}, args...)...)
	cmd.Env = append(os.Environ(), "TOOLS=http://127.0.0.1:"+ports["8081"], "MODEL=http://127.0.0.1:"+ports["8083"])
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its error is the kill
		http.DefaultClient.CloseIdleConnections()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the agent did not start")
	require.Equal(t, "ready\n", line)
	path = filepath.Join(t.TempDir(), "refunds.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600))
	return path
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}
