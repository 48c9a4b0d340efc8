package mutate_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/mutate"
)

// TestTheTableOfThePage: docs/reference/mutations.md has a row for each kind, with what it makes of a
// prompt. UPDATE_GOLDEN=1 writes it.
func TestTheTableOfThePage(t *testing.T) {
	const path, from, to = "../../docs/reference/mutations.md", "<!-- kinds -->\n", "<!-- /kinds -->"
	const prompt = "Please refund order 1042 by 4 May 2026, ok?"
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, found := strings.Cut(string(page), from)
	require.True(t, found)
	is, tail, found := strings.Cut(rest, to)
	require.True(t, found)
	assert.Contains(t, head, "`"+prompt+"`")

	want := "| kind | group | intent | weight | strength | what it does | example |\n|---|---|---|---|---|---|---|\n"
	for _, k := range mutate.Kinds() {
		strength := ""
		if k.Strength > 0 {
			strength = strconv.FormatFloat(k.Strength, 'g', -1, 64)
		}
		group := ""
		if k.Group != "" {
			group = "`" + k.Group + "`"
		}
		after := made(t, &mutate.Options{Seed: 1, Kinds: []string{k.Name}}, prompt)[0]
		want += fmt.Sprintf("| `%s` | %s | %v | %v | %s | %s | %s |\n", k.Name, group, k.Intent, k.Weight, strength, k.Text, shown(after))
	}
	if os.Getenv("UPDATE_GOLDEN") == "1" && is != want {
		require.NoError(t, os.WriteFile(path, []byte(head+from+want+to+tail), 0o644))
		is = want
	}
	assert.Equal(t, want, is)
}

// shown is a text in a cell of a table: as Go source, its middle left out.
func shown(text string) string {
	const ends = 60
	if r := []rune(text); len(r) > 3*ends {
		text = string(r[:ends]) + " … " + string(r[len(r)-ends:])
	}
	quoted := strconv.Quote(text)
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return "`" + strings.ReplaceAll(quoted, "|", `\|`) + "`"
}
