package planjson_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// Whoever writes a plan finds of every kind what it does, each parameter with
// what is allowed, and of a fault its coordinates.
func TestKindsSayEverything(t *testing.T) {
	kinds, err := planjson.Kinds(nil)
	require.NoError(t, err)
	require.Len(t, kinds, len(planjson.Rows()))
	for i, k := range kinds {
		row := planjson.Rows()[i]
		assert.Equal(t, row.Kind, k.Kind)
		assert.Equal(t, row.IsTrigger(), k.Trigger, k.Kind)
		assert.Equal(t, row.HoldsCode(), k.NeedsCode, k.Kind)
		assert.NotEmpty(t, k.Doc, k.Kind)
		assert.NotEmpty(t, k.Go, k.Kind)
		if !k.Trigger && !k.NeedsCode {
			for _, coordinate := range []any{k.Class, k.Visibility, k.Persistence, k.Effect} {
				assert.NotEmpty(t, coordinate, k.Kind)
			}
		}
		for _, p := range k.Parameters {
			assert.NotEmpty(t, p.Allowed, "%s of %s", p.Name, k.Kind)
		}
	}
}

type locks struct {
	Shut int `json:"shut" bounds:"min=1,max=3" doc:"locks that are shut"`
}

// door is a fault of the user's that leaves the bounds to its row.
type door struct {
	chaos.Fault
	row *catalog.Row
	locks
}

func (d door) Describe() chaos.Description { return d.row.Describe(d.locks) }

func TestKindsOfYourOwn(t *testing.T) {
	row := func(example string) *planjson.Options {
		var r *catalog.Row
		r = catalog.Fault(catalog.Row{Kind: "shut", Doc: "The door is shut.", Go: "shut(n)", Example: example},
			func(p locks) chaos.Fault { return door{fault.Hang(), r, p} })
		return &planjson.Options{Rows: []*catalog.Row{r}}
	}
	kinds, err := planjson.Kinds(row(`{"shut":2}`))
	require.NoError(t, err)
	last := kinds[len(kinds)-1]
	assert.Equal(t, "The door is shut.", last.Doc)
	assert.Equal(t, []catalog.Parameter{{Name: "shut", Doc: "locks that are shut", Allowed: "an integer from 1 to 3"}}, last.Parameters)

	_, err = planjson.Kinds(row(`{"shut":4}`))
	assert.ErrorContains(t, err, `planjson: /shut/params/shut: bad value 4; allowed: an integer from 1 to 3`)
}
