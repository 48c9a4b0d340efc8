package main

import (
	"context"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

const (
	answerText = "Order 1042 was shipped to Zoë on Monday."
	toolName   = "orders_status"
	toolArgs   = `{"order_id":1042}`
)

// newProvider makes a model that calls the tool first, if there is one, and answers
// with the text once it has the tool's result, whatever that is.
func newProvider() *modeltest.Model {
	return modeltest.New(nil, func(_ context.Context, r modeltest.Request) (modeltest.Answer, error) {
		if len(r.Tools) > 0 && r.Turn == 1 {
			return modeltest.Answer{Calls: []modeltest.Call{{Name: toolName, Args: toolArgs}}}, nil
		}
		return modeltest.Answer{Text: answerText}, nil
	})
}
