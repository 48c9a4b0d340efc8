package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// A client asks for a chat completion twice; between, it does the call.
func Example() {
	model := modeltest.New(nil, modeltest.Script( // in a test: New(t, …)
		modeltest.Answer{Calls: []modeltest.Call{{Name: "orders_status", Args: `{"order_id":1042}`}}},
		modeltest.Answer{After: "shipped", Text: "Order 1042 was shipped."},
	))
	client := &http.Client{Transport: model}
	const tools = `"tools":[{"type":"function","function":{"name":"orders_status","parameters":{"type":"object"}}}]`

	messages := `{"role":"user","content":"Where is order 1042?"}`
	for range 2 {
		resp, err := client.Post("https://api.openai.example/v1/chat/completions", "application/json",
			strings.NewReader(`{"model":"gpt-5.2","messages":[`+messages+`],`+tools+`}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		var doc struct {
			Choices []struct {
				Message json.RawMessage
				Reason  string `json:"finish_reason"`
			}
		}
		err = json.NewDecoder(resp.Body).Decode(&doc)
		resp.Body.Close()
		if err != nil {
			fmt.Println(err)
			return
		}
		var said struct {
			Content   string
			ToolCalls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		if err := json.Unmarshal(doc.Choices[0].Message, &said); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(doc.Choices[0].Reason, said.Content, said.ToolCalls)
		for _, call := range said.ToolCalls {
			messages += `,` + string(doc.Choices[0].Message) + `,{"role":"tool","tool_call_id":"` + call.ID + `","content":"shipped"}`
		}
	}
	fmt.Println(model.Err())
	// Output:
	// tool_calls  [{call_1774fc39d64f43dc {orders_status {"order_id":1042}}}]
	// stop Order 1042 was shipped. []
	// <nil>
}

// A function answers by what it is asked, and may hand over to scripts.
func ExampleFunc() {
	refund := modeltest.Script(modeltest.Answer{Text: "A colleague will see to it."})
	model := modeltest.New(nil, func(ctx context.Context, r modeltest.Request) (modeltest.Answer, error) {
		if strings.Contains(r.Messages[0].Text, "refund") {
			return refund(ctx, r)
		}
		return modeltest.Answer{Text: fmt.Sprintf("%s, turn %d", r.API, r.Turn)}, nil
	})
	client := &http.Client{Transport: model}
	for _, prompt := range []string{"hello", "refund order 1042"} {
		resp, err := client.Post("http://localhost:11434/api/chat", "application/json",
			strings.NewReader(`{"model":"qwen3","stream":false,"messages":[{"role":"user","content":"`+prompt+`"}]}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		var doc struct{ Message struct{ Content string } }
		err = json.NewDecoder(resp.Body).Decode(&doc)
		resp.Body.Close()
		fmt.Println(doc.Message.Content, err)
	}
	// Output:
	// ollama, turn 1 <nil>
	// A colleague will see to it. <nil>
}
