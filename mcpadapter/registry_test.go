package mcpadapter

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// The tools of a server of this package are a registry, and what its gate refuses
// is said in the words of package client.
func TestAToolThatTheGateDoesNotKnow(t *testing.T) {
	gated := client.Registry(clientOf(t, serverOf(t, newShop(t).host, nil), nil))
	_, err := gated.CallTool(t.Context(), "nowhere", nil)
	assert.ErrorIs(t, err, chaos.ErrUnknownTool, "by the gate's code")
}
