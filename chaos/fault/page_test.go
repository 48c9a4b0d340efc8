package fault_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
