package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A row replaces the line that begins as it does, or comes last; what is not in its section stays.
func TestRow(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "examples", "x")
	require.NoError(t, os.MkdirAll(below, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(root, "docs"), 0o755))
	file := filepath.Join(root, "docs", "p.md")
	const before = "# P\n<!-- t begin -->\n\n| a | b |\n|---|---|\n| x | 1 |\n\n<!-- t end -->\n| x | elsewhere |\n"
	require.NoError(t, os.WriteFile(file, []byte(before), 0o644))
	t.Chdir(below)
	holds := func() string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}

	t.Setenv("UPDATE_GOLDEN", "")
	Row(t, "p.md", "t", "| x ", "| x | 1 |")
	assert.Equal(t, before, holds(), "what is so already")

	t.Setenv("UPDATE_GOLDEN", "1")
	Row(t, "p.md", "t", "| x ", "| x | 2 |")
	Row(t, "p.md", "t", "| y ", "| y | 3 |")
	assert.Equal(t, strings.Replace(before, "| x | 1 |", "| x | 2 |\n| y | 3 |", 1), holds())
	assert.Equal(t, "\n| a | b |\n|---|---|\n| x | 2 |\n| y | 3 |\n\n", Section(t, "p.md", "t"))
}

func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"a|b`c\r\nd":   "`a\\|b'c d`",
		"abcdefghijkl": "`abcd … ijkl`",
		"panic: x\n\ngoroutine 7 [running]:\nmain.f()\n\t/home/f.go:1 +0x1f": "`pani … ace)`",
	} {
		assert.Equal(t, want, Code(text, 8), text)
	}
}
