package contracttest

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// VerifyRun checks the claim of a run file by n of its units, which it draws at random and runs again
// as [Run] does, in virtual time where the matrix makes the worlds; see [compare.Verify]. It logs what
// it found, and fails t unless the verdict is Pass. If the file cannot be compared with the
// matrix, VerifyRun stops t. For an agent in real time call [contract.Matrix.RunAgain] instead.
func VerifyRun(t *testing.T, m *contract.Matrix, file string, n int) *compare.Verification {
	t.Helper()
	v, err := verifyRun(t, m, file, n)
	if err != nil {
		t.Fatalf("contracttest: %s was not verified: %v", file, err)
	}
	if t.Logf("contracttest: %s: %v", file, v); v.Verdict != scoring.Pass {
		t.Fail()
	}
	return v
}

func verifyRun(t *testing.T, m *contract.Matrix, file string, n int) (*compare.Verification, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	claim, err := report.Read(f, nil)
	if err != nil {
		return nil, err
	}
	r := &runner{o: &Options{}}
	r.virtual = virtualScenarios(m, r.o)
	o := r.runOptions(t)
	o.Build = os.Getenv(buildVariable)
	o.Harness.Around = func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) { run(r.bubble(t, c)) }
	again, err := m.RunAgain(t.Context(), claim, n, rand.Uint64(), &o)
	if err != nil {
		return nil, err
	}
	return compare.Verify(claim, again)
}
