package incident_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// Words that make the test binary something else than a run of the tests.
const (
	asKeeper = "keep-agent" // the keeper of an agent
	asRunner = "run-triage" // a runner that ends itself at some step
)

// TestMain finds goroutines that are left when all tests have ended.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case asKeeper:
			os.Exit(incident.Keep(os.Args[2:]))
		case asRunner:
			os.Exit(runToTheEnd(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// keeper is the test binary as a keeper.
func keeper(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return []string{self, asKeeper}
}
