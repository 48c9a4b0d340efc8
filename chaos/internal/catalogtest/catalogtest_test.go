package catalogtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
)

const source = `package shop

func Refuse() chaos.Fault { return nil }
func Cut(n int) (chaos.Fault, error) { return nil, nil }
func (basket) Lose() chaos.Fault { return nil }
func hidden() chaos.Fault { return nil }

var (
	refuse = &catalog.Fail[catalog.None]{Row: catalog.Row{Kind: "refused", Go: "shop.Refuse()"}}
	rows      = catalog.List(refuse)
)
`

// What is missing from a list of rows is named.
func TestComplete(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.go"), []byte(source), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop_test.go"), []byte("no Go"), 0o600))
	row := func(kind, call string) *catalog.Row {
		return catalog.Fault(catalog.Row{Kind: kind, Doc: "The shop refuses.", Go: call}, func(catalog.None) chaos.Fault { return nil })
	}
	refuse := row("refused", "shop.Refuse()")
	assert.NoError(t, catalogtest.Complete(dir, []*catalog.Row{refuse}))
	for _, c := range []struct {
		why  string
		rows []*catalog.Row
		want string
	}{
		{"a row that is not listed", nil, `there is a row literal "refused", and no such row
no row shows shop.Refuse(…)
1 constructors and 1 row literals make 0 rows`},
		{"a constructor without a row", []*catalog.Row{row("refused", "shop.Cut(n)")}, "no row shows shop.Refuse(…)"},
		{"a row twice", []*catalog.Row{refuse, refuse}, `row "refused" is there twice or not complete
1 constructors and 1 row literals make 2 rows`},
		{"a row without a sentence", []*catalog.Row{catalog.Fault(catalog.Row{Kind: "refused", Go: "shop.Refuse()"},
			func(catalog.None) chaos.Fault { return nil })}, `row "refused" is there twice or not complete`},
		{"a row that was not completed", []*catalog.Row{{Kind: "refused", Doc: "It refuses.", Go: "shop.Refuse()"}},
			`row "refused" is there twice or not complete`},
	} {
		t.Run(c.why, func(t *testing.T) { assert.EqualError(t, catalogtest.Complete(dir, c.rows), c.want) })
	}
	assert.Error(t, catalogtest.Complete(t.TempDir(), nil), "no files, no constructors")
}
