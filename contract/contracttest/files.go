package contracttest

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// The environment variables that ask for the files of a Run: a folder for those of every Run, the
// run file, and the build that it names.
const (
	reportsVariable = "SHAKEDOWN_REPORTS"
	fileVariable    = "SHAKEDOWN_FILE"
	buildVariable   = "SHAKEDOWN_BUILD"
	shardVariable   = "SHAKEDOWN_SHARD"
	resumeVariable  = "SHAKEDOWN_RESUME"
)

func (r *runner) files(t *testing.T, pkg string, result *contract.Report) {
	t.Helper()
	dir := cmp.Or(r.o.Reports, os.Getenv(reportsVariable))
	if dir == "" {
		return
	}
	dir = filepath.Join(dir, pathOf(pkg), pathOf(t.Name()), pathOf(result.Name))
	if n := result.Shard; n.Count > 0 {
		dir = filepath.Join(dir, fmt.Sprintf("%dof%d", n.Index, n.Count))
	}
	o := &report.JUnitOptions{FailOn: r.o.FailOn}
	if err := report.Files(dir, result, o); err != nil {
		t.Errorf("contracttest: the reports were not written: %v", err)
		return
	}
	t.Logf("contracttest: the report is in %s", dir)
}

var notInPath = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// mostInPath is the most characters of a name that a folder has. File systems allow
// 255 bytes.
const mostInPath = 100

// pathOf makes a relative path of a name: a folder for each part between slashes, with
// characters that no file system refuses. Where that changes a part, a hash of the part
// follows, so that two names have two folders.
func pathOf(name string) string {
	if name == "" {
		return ""
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		own := notInPath.ReplaceAllString(part, "_")
		own = own[:min(len(own), mostInPath)]
		if own != part || strings.Trim(own, ".") == "" {
			sum := sha256.Sum256([]byte(part))
			own = fmt.Sprintf("%s-%x", strings.Trim(own, "."), sum[:4])
		}
		parts = append(parts, own)
	}
	return filepath.Join(parts...)
}
