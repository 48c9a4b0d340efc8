package toolkit_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/experiment"
)

// childMode makes this test binary a program of its own.
const childMode = "SHAKEDOWN_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childMode) {
	case "":
		os.Exit(m.Run())
	case "echo":
		fmt.Print(strings.Join(os.Args[1:], "|"))
		fmt.Fprint(os.Stderr, "to stderr")
		os.Exit(3)
	case "flood":
		_, _ = io.CopyN(os.Stdout, zeros{}, 3<<20)
	case "family": // a grandchild holds a connection, and both wait for ever
		grandchild := exec.Command(os.Args[0], os.Args[1:]...)
		grandchild.Env = append(os.Environ(), childMode+"=member")
		_ = grandchild.Start()
		select {}
	case "member":
		conn, err := net.Dial("tcp", os.Args[1])
		if err == nil {
			fmt.Fprintln(conn, "here")
			select {}
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func self(t *testing.T) string {
	t.Helper()
	path, err := json.Marshal(os.Args[0])
	require.NoError(t, err)
	return string(path)
}

func TestProcessProvider(t *testing.T) {
	t.Setenv(childMode, "echo")
	for arguments, want := range map[string]string{
		``:                          "",
		`["a b", "", null, "${n}"]`: "a b|7",
		`{"-z": "${who}", "install": "", "--a": 1}`: "-z|world|install|--a|1",
		`"-x 'a b' \"c\" d\"e f\"g ''"`:             "-x|a b|c|de fg",
		`"${who} ${n}"`:                             "world|7",
		`["$(echo no shell); ls", "*"]`:             "$(echo no shell); ls|*",
	} {
		if arguments != "" {
			arguments = `, "arguments": ` + arguments
		}
		rec := once(t, `{"type": "process", "path": `+self(t)+arguments+`}`, nil)
		require.Equal(t, experiment.ActivitySucceeded, rec.Status, "an exit status is an output: %s", rec.Exception)
		var output map[string]any
		require.NoError(t, json.Unmarshal(rec.Output, &output))
		assert.Equal(t, map[string]any{"status": 3.0, "stdout": want, "stderr": "to stderr"}, output, arguments)
	}
}

func TestAProcessThatWritesTooMuch(t *testing.T) {
	t.Setenv(childMode, "flood")
	rec := once(t, `{"type": "process", "path": `+self(t)+`}`, nil)
	require.Equal(t, experiment.ActivitySucceeded, rec.Status, rec.Exception)
	assert.InDelta(t, 1<<20, len(rec.Output), 100, "it ran to its end, and the beginning is kept")
}

func TestAProcessThatIsNone(t *testing.T) {
	rec := once(t, `{"type": "process", "path": "no-such-program-anywhere"}`, nil)
	assert.Contains(t, rec.Exception, "toolkit: process no-such-program-anywhere")
}

// At its timeout the process and the children that it started are killed.
func TestAProcessIsKilledWithItsChildren(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("without process groups only the process itself is killed")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	t.Setenv(childMode, "family")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			gone <- err
			return
		}
		r := bufio.NewReader(conn)
		_, err = r.ReadString('\n')
		cancel()
		if err == nil {
			_, err = r.ReadByte() // until the grandchild is dead and its connection closed
		}
		gone <- err
	}()
	e := build(t, fmt.Sprintf(`{"title": "t", "description": "", "method": [{"type": "action", "name": "a",
		"provider": {"type": "process", "path": %s, "arguments": [%q]}}]}`, self(t), listener.Addr().String()), nil)
	j, err := experiment.Run(ctx, e, nil)
	require.NoError(t, err)
	assert.Contains(t, j.Run[0].Exception, "context canceled")
	assert.False(t, j.Run[0].Abandoned)
	assert.ErrorIs(t, <-gone, io.EOF)
}

func TestAProcessHasATimeout(t *testing.T) {
	t.Setenv(childMode, "family")
	rec := once(t, fmt.Sprintf(`{"type": "process", "path": %s, "arguments": ["nowhere"], "timeout": 0.05}`, self(t)), nil)
	assert.Contains(t, rec.Exception, "context deadline exceeded")
}
