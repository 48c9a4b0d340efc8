package shakedown_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the README shows must be what was compiled and run.
func TestReadmeShowsTheProgramThatIsTested(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(program), "\n)\n\n") // past the imports
	require.True(t, found)
	assert.Contains(t, string(readme), "```go\n"+shown+"```\n", "copy readme_test.go, from its first type on, into README.md")
}
