package main

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/examples/cluster/sim"
)

// asProgram makes the test binary the program.
const asProgram = "CLUSTER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The program ends with status 0 after SIGTERM, by which containers are stopped.
func TestTheProgramEndsOnSIGTERM(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for name, args := range map[string][]string{"over HTTP": {"-listen", "127.0.0.1:0", "-loopback-without-token"}, "over standard input and output": nil} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), self, args...)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			lines := bufio.NewReader(stderr)
			if args != nil {
				require.NoError(t, cmd.Start())
				line, err := lines.ReadString('\n')
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(line, "cluster: http://"), line)
			} else {
				in, err := cmd.StdinPipe()
				require.NoError(t, err)
				out, err := cmd.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				cs := connect(t, &mcp.IOTransport{Reader: out, Writer: in}, newEra)
				assert.Equal(t, 8, call[sim.Summary](t, cs, "cluster.summary", `{}`).Components, "it is at work, and its input stays open")
			}
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			assert.NoError(t, cmd.Wait())
		})
	}
}
