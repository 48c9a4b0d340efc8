package mcpadapter

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestInjectAnswersSayTheProbabilityInForce: also the one that a client left out.
func TestInjectAnswersSayTheProbabilityInForce(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	for _, tc := range []struct {
		reason, args string
		want         float64
	}{
		{"left out: the default", `{"fault_name":"f","action":"register","fault_type":"error","target":"orders.*"}`, 0.1},
		{"and when it is drawn", `{"fault_name":"f","action":"inject"}`, 0.1},
		{"given", `{"fault_name":"f","action":"register","fault_type":"error","target":"orders.*","probability":0.25}`, 0.25},
		{"and when it is drawn", `{"fault_name":"f","action":"inject"}`, 0.25},
		{"armed for the next call: certain", `{"fault_name":"f","action":"inject","arm_next":true}`, 1},
	} {
		out := answer[injectOutput](t, c, "chaos_inject_fault", tc.args)
		if assert.NotNil(t, out.Probability, tc.reason) {
			assert.Equal(t, tc.want, *out.Probability, tc.reason)
		}
	}
}
