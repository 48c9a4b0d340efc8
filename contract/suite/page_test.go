package suite_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// docs/reference/suites.md has a row for each type and mode, made of the tables that the reader reads.
// UPDATE_GOLDEN=1 writes them.
func TestThePageHasAllTypesAndModes(t *testing.T) {
	const path = "../../docs/reference/suites.md"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	examples := map[string]string{} // of rows that tests execute
	for _, row := range effectsOfKinds() {
		examples[row.kind] = row.example()
	}
	for _, row := range rowsOfModes() {
		if at := row.list + " " + row.name; examples[at] == "" {
			examples[at] = row.example()
		}
	}
	rows, modes := suite.PageRows()
	types := "| type | what holds | keys | can be negated | example |\n|---|---|---|---|---|\n"
	for _, k := range rows {
		yes := map[bool]string{true: "yes", false: ""}[k.Answers]
		require.NotEmpty(t, examples[k.Name], k.Name)
		types += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", k.Name, k.Text, keys(k.Params), yes, code(examples[k.Name]))
	}
	lists := "| list | mode | what happens | keys | example |\n|---|---|---|---|---|\n"
	for _, m := range modes {
		example := examples[m.List+" "+m.Name]
		require.NotEmpty(t, example, m.Name)
		lists += fmt.Sprintf("| `%s` | `%s` | %s | %s | %s |\n", m.List, m.Name, m.Text, keys(m.Params), code(example))
	}
	page := section(t, section(t, string(data), "types", types), "modes", lists)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o600))
	}
	assert.Equal(t, string(data), page, "run the test with UPDATE_GOLDEN=1")
}

// code is YAML as a cell of a table has it.
func code(yaml string) string { return "`" + strings.ReplaceAll(yaml, "|", "\\|") + "`" }

// keys are the keys of a struct as the page shows them.
func keys(t reflect.Type) string {
	var list []string
	for _, f := range strictjson.Fields(t) {
		optional := ""
		if f.Optional {
			optional = "?"
		}
		list = append(list, fmt.Sprintf("`%s`%s %s", f.Name, optional, f.Doc))
	}
	return strings.ReplaceAll(strings.Join(list, "<br>"), "|", "\\|")
}

// section replaces what stands between the marks of a name.
func section(t *testing.T, page, name, text string) string {
	t.Helper()
	mark := "<!-- " + name + ": generated -->\n"
	begin := strings.Index(page, mark)
	require.GreaterOrEqual(t, begin, 0)
	end := strings.Index(page[begin:], "<!-- end -->")
	require.GreaterOrEqual(t, end, 0)
	return page[:begin] + mark + text + page[begin+end:]
}
