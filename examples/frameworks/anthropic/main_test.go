package main

import (
	"bytes"
	"encoding/json"
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
		assert.Equal(t, `one overload, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
the answer is cut, 2 attempts on the wire: "" the answer is incomplete: max_tokens
a tool that is none, 2 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
the model refuses, 1 attempts on the wire: "" the model refused: I'm sorry, but I can't help with that request.
`, out.String())
	})
}

func TestWork(t *testing.T) {
	result, failed := work("orders_status", json.RawMessage(toolArgs))
	assert.Equal(t, `{"order_id":1042,"status":"shipped"}`, result)
	assert.False(t, failed)
	_, failed = work("orders_find", json.RawMessage(toolArgs))
	assert.True(t, failed)
	for _, args := range []string{`{`, `{}`, `{"order_id":"x"}`, `"{\"order_id\":1042"`} {
		_, failed = work("orders_status", json.RawMessage(args))
		assert.True(t, failed, args)
	}
}
