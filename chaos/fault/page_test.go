package fault_test

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

// The program in docs/adding-a-fault.md, piece by piece, is the one that the
// tests compile and run.
func TestPageShowsTheExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "adding-a-fault.md"))
	require.NoError(t, err)
	example, err := os.ReadFile("example_own_test.go")
	require.NoError(t, err)
	var pieces []string
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		pieces = append(pieces, block[1])
	}
	assert.Equal(t, string(example), strings.Join(pieces, "\n"))
}

// The table in the package comment has a line for every fault, and says of
// each what its Describe method says.
func TestPackageCommentShowsTheCoordinates(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	table := map[string][]string{}
	for _, line := range regexp.MustCompile(`(?m)^//\t([A-Z].*?)  +(\w+) +(\w+) +(\w+) +(\w+)$`).FindAllStringSubmatch(string(page), -1) {
		for _, name := range strings.Fields(line[1]) {
			table[name] = line[2:]
		}
	}
	all := map[string]chaos.Fault{}
	for _, r := range catalogue() {
		name, _, _ := strings.Cut(r.name, " ")
		all[name] = r.fault
	}
	for _, p := range families() {
		all[p.name] = p.fault
	}
	for name, f := range all {
		d := f.(chaos.Described).Describe()
		want := []string{d.Kind, string(d.Class), string(d.Visibility), string(d.Effect)}
		assert.Equal(t, want, table[name], name)
	}
	assert.Len(t, table, len(all))
}
