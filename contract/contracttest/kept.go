package contracttest

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/internal/redact"
)

const keptTest = "kept"

// dirOf is the folder of a test's files, where dir is that of its options; "": nothing is
// written.
func dirOf(t *testing.T, dir string) string {
	switch dir {
	case noFiles:
		return ""
	case "":
		return filepath.Join("testdata", "shakedown", pathOf(t.Name()))
	}
	return dir
}

// keptDefects are the defects that former runs of a test have found, and how they are run
// again.
type keptDefects struct {
	dir     string
	spec    *planjson.Options
	run     contract.RunOptions
	failOn  contract.Severity
	secrets *redact.Redactor
}

// test runs the kept defects, each as a subtest, and reports whether any ran.
func (k *keptDefects) test(t *testing.T, m *contract.Matrix) (ran bool) {
	t.Helper()
	all, err := search.ReadKept(k.dir, k.spec)
	if err != nil {
		t.Errorf("contracttest: kept defects cannot be read: %v", err)
	}
	if len(all) == 0 || m == nil {
		return false
	}
	rates := rates(m)
	t.Run(keptTest, func(t *testing.T) {
		for _, one := range all {
			t.Run(one.ID, func(t *testing.T) {
				ran = true
				k.testOne(t, m, one, rates[one.Invariant])
			})
		}
	})
	return ran
}

// testOne runs one kept defect. A break of an invariant that promises a rate fails nothing.
func (k *keptDefects) testOne(t *testing.T, m *contract.Matrix, one *search.Kept, atRate bool) {
	t.Helper()
	status, cell, err := one.Run(t.Context(), m, &k.run)
	switch {
	case err != nil:
		t.Fatalf("contracttest: %v: %s", one, k.secrets.Text(err.Error()))
	case status == search.StatusUnreached && cell.State == contract.Inconclusive:
		t.Skipf("its run decided nothing: %s: %v", k.secrets.Text(cell.Why), one)
	case status == search.StatusUnreached && (len(one.Deliveries) == 0 || cell.State == contract.NotRun):
		t.Skipf("its scenario %q is not in the matrix: %v", one.Scenario, one)
	case status == search.StatusUnreached:
		t.Skipf("no longer reaches the agent: %v", one)
	}
	if err := one.SetStatus(k.dir, status); err != nil {
		t.Logf("contracttest: the status %q of %v was not written: %v", status, one, err)
	}
	if status == search.StatusResolved {
		return
	}
	t.Logf("%v: %v: %s", status, one, k.secrets.Text(cell.Why))
	if cell.Severity >= k.failOn && !atRate {
		t.Fail()
	}
}

// onlyKept reports whether -run selects of the subtests of t the kept defects alone. Of an
// expression that is not clear, such as one with alternatives, it reports false.
func onlyKept(t *testing.T) bool {
	f := flag.Lookup("test.run")
	if f == nil {
		return false
	}
	levels := strings.Split(f.Value.String(), "/")
	own := strings.Count(t.Name(), "/") + 1
	return len(levels) > own && strings.Trim(levels[own], "^$") == keptTest &&
		!strings.ContainsAny(f.Value.String(), "[|")
}
