package catalogue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/mcpadapter/mcpchaos"
)

// Every type of chaos_inject_fault is a kind, and no other kind has a type.
func TestTheTypesOfClientsAreKinds(t *testing.T) {
	kinds, err := Kinds(Options(nil))
	require.NoError(t, err)
	var types, names []string
	for _, k := range kinds {
		names = append(names, k.Kind.Description.Kind)
		if k.ClientType != "" {
			types = append(types, k.ClientType)
		}
	}
	assert.ElementsMatch(t, remote.Types(), types)
	for _, row := range mcpchaos.Rows() {
		assert.Contains(t, names, row.Kind)
	}
}

// A row of the host takes the place of ours.
func TestNoKindTwice(t *testing.T) {
	host := &planjson.Options{Rows: mcpchaos.Rows()}
	assert.Len(t, Options(host).Rows, len(mcpchaos.Rows()))
	assert.Len(t, host.Rows, len(mcpchaos.Rows()), "the host's own are left alone")
}
