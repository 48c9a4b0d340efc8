package incident_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain finds goroutines that are left when all tests have ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
