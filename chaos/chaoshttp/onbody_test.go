package chaoshttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// breaking is a change that fails.
type breaking struct{ err error }

func (f breaking) Phase() chaos.Phase { return chaos.PhaseChange }
func (f breaking) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, f.err
}

func TestOnBody(t *testing.T) {
	down := errors.New("connection closed")
	for _, tt := range []struct {
		name      string
		fault     chaos.Fault
		kind      string
		body      string
		want      string
		cut       error
		delivered bool
	}{
		{"replaced", fault.Replace(json.RawMessage(`{"id":8}`)), "application/json", `{"id":7}`, `{"id":8}`, nil, true},
		{"replaced by a Go value", fault.Replace(map[string]int{"id": 8}), "application/json", `{"id":7}`, `{"id":8}`, nil, true},
		{"replaced by the same", fault.Replace(json.RawMessage(`{"id":7}`)), "application/json", `{"id":7}`, `{"id":7}`, nil, false},
		{"not JSON", fault.Replace(json.RawMessage(`{"id":8}`)), "text/plain", `id 7`, `id 7`, nil, false},
		{"a Mutate", fault.Mutate("next", func(v map[string]int) map[string]int { return map[string]int{"id": v["id"] + 1} }),
			"application/json", `{"id":7}`, `{"id":8}`, nil, true},
		{"an error", breaking{down}, "application/json", `{"id":7}`, ``, down, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Fault: onBody(tt.fault)})
			g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, answering(tt.kind, tt.body, false)), "https://example.com/", "")
			require.NoError(t, g.err)
			assert.Equal(t, tt.want, g.body)
			assert.Equal(t, tt.cut != nil, g.cut != nil, "%v", g.cut)
			if tt.cut != nil {
				assert.ErrorIs(t, g.cut, tt.cut)
				assert.ErrorIs(t, g.cut, chaos.ErrInjected)
			}
			assert.Equal(t, tt.delivered, onlyEvent(t, in).Delivered, "%+v", onlyEvent(t, in))
		})
	}
}
