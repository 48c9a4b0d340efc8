package chaoshttp_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// The table of docs/http-faults.md has a line for every fault, and says of
// each what its Describe method says.
func TestThePageShowsTheCoordinates(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http-faults.md"))
	require.NoError(t, err)
	table := map[string][]string{}
	for _, line := range regexp.MustCompile("(?m)^\\| `chaoshttp\\.(\\w+)` \\| `(\\w+)` \\| (\\w+) \\| (\\w+) \\| (\\w+) \\|").FindAllStringSubmatch(string(page), -1) {
		table[line[1]] = line[2:]
	}
	named := map[string]bool{}
	for _, r := range catalogue() {
		name, _, _ := strings.Cut(r.name, " ")
		d := r.fault.(chaos.Described).Describe()
		assert.Equal(t, r.kind, d.Kind)
		assert.Equal(t, []string{d.Kind, string(d.Class), string(d.Visibility), string(d.Effect)}, table[name], name)
		assert.NotEmpty(t, d.Persistence, name)
		named[name] = true
	}
	assert.Len(t, table, len(named), "rows of faults that there are not")
}
