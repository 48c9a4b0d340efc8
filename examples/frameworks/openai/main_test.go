package main

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the program prints, in virtual time: the client waits between attempts.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out))
		assert.Equal(t, `one rate limit, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
the answer is cut, 2 attempts on the wire: "" the answer is incomplete: length
a tool that is none, 2 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
the model refuses, 1 attempts on the wire: "" the model refused: I'm sorry, but I can't help with that request.
`, out.String())
	})
}

func TestWork(t *testing.T) {
	assert.Equal(t, `{"order_id":1042,"status":"shipped"}`, work("orders_status", toolArgs))
	assert.Contains(t, work("orders_find", toolArgs), "no tool")
	for _, args := range []string{`{`, `{}`, `{"order_id":"x"}`} {
		assert.Contains(t, work("orders_status", args), "required", args)
	}
}
