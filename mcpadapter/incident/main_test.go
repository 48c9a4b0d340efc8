package incident_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asRunner makes the test binary a runner that ends itself at some step.
const asRunner = "run-triage"

// TestMain finds goroutines that are left when all tests have ended.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asRunner {
		os.Exit(runToTheEnd(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}
