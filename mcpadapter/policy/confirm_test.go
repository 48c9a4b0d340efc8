package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// power is a table with rules of all three kinds.
func power() policy.Options {
	o := everything("power.create", "power.abort", "room.delete", "look")
	o.Confirm = []policy.Confirm{
		{Tool: "*.delete"},
		{Tool: "power.abort"},
		{Tool: "power.create", Field: "operation", Values: []any{"ForceOff", "Nmi", 7, true}},
	}
	return o
}

func TestOnlyTheBooleanTrueConfirms(t *testing.T) {
	for args, ok := range map[string]bool{
		`{"confirm":true}`: true,
		`{"confirm": 
			true }`: true,
		`{}`:                                        false,
		`{"confirm":"true"}`:                        false,
		`{"confirm":"TRUE"}`:                        false,
		`{"confirm":1}`:                             false,
		`{"confirm":1.0}`:                           false,
		`{"confirm":false}`:                         false,
		`{"confirm":null}`:                          false,
		`{"confirm":[true]}`:                        false,
		`{"confirm":{"confirm":true}}`:              false,
		`{"Confirm":true}`:                          false,
		`{"confirm ":true}`:                         false,
		`{"body":{"confirm":true}}`:                 false,
		`{"confirm":false,"confirm":true}`:          false,
		`{"confirm":true,"confirm":true}`:           false,
		`{"confirm":true,"CONFIRM":false}`:          false,
		`{"conf\u0069rm":true}`:                     true, // the same name, spelt in JSON
		`{"confirm":"yes","con\u0066irm":true}`:     false,
		`[{"confirm":true}]`:                        false,
		`{"confirm":true,"\u212Aey":1,"key":2}`:     false, // the Kelvin sign is a k to decoders that ignore case
		`{"confirm":true,"x":[{"a":1,"\u0041":2}]}`: false,
	} {
		t.Run(args, func(t *testing.T) {
			d := newDesk("power.create", "power.abort", "room.delete", "look")
			_, j := d.behind(t, power())
			cs := d.connect(t, newEra, nil)
			for _, tool := range []string{"room.delete", "power.abort"} {
				res := call(t, cs, tool, args)
				assert.Equal(t, !ok, res.IsError, "%s: %s", tool, text(res))
				if res.IsError {
					assert.Equal(t, 400, envelope(t, res).Status)
				}
			}
			if !ok {
				assert.Empty(t, d.reached())
			}
			assert.Len(t, j.lines(t), 2)
		})
	}
}

func TestRulesOverAField(t *testing.T) {
	for args, needed := range map[string]bool{
		`{"operation":"On"}`:                        false,
		`{}`:                                        false,
		`{"operation":"ForceOff"}`:                  true,
		`{"operation":"fORCEoFF"}`:                  true,
		`{"operation":" forceoff\t"}`:               true,
		`{"operation":"\u0046orceOff"}`:             true,
		`{"operation":"Force Off"}`:                 false,
		`{"operation":"nmi"}`:                       true,
		`{"operation":7}`:                           true,
		`{"operation":7.0}`:                         true,
		`{"operation":"7"}`:                         false,
		`{"operation":true}`:                        true,
		`{"operation":false}`:                       false,
		`{"operation":["On","NMI"]}`:                true,
		`{"operation":[["NMI"]]}`:                   true,
		`{"operation":["On"]}`:                      false,
		`{"operation":{"name":"On"}}`:               true, // an object could be anything
		`{"OPERATION":"ForceOff"}`:                  true,
		`{"operation":null}`:                        false,
		`{"op":"ForceOff","operation":"On"}`:        false,
		`{"operation":"On","Operation":"ForceOff"}`: true,
		`{"operation":"On","operation":"ForceOff"}`: true,
	} {
		t.Run(args, func(t *testing.T) {
			d := newDesk("power.create", "power.abort", "room.delete", "look")
			d.behind(t, power())
			res := call(t, d.connect(t, oldEra, nil), "power.create", args)
			assert.Equal(t, needed, res.IsError, text(res))
			assert.Equal(t, needed, len(d.reached()) == 0)
		})
	}
}

func TestTheArgumentIsListedAndStripped(t *testing.T) {
	type order struct {
		Operation string  `json:"operation"`
		Big       float64 `json:"big,omitempty"`
	}
	each(t, func(t *testing.T, era string) {
		d := newDesk("look")
		var got json.RawMessage
		mcp.AddTool(d.server, &mcp.Tool{Name: "power.create"}, func(_ context.Context, req *mcp.CallToolRequest, _ order) (*mcp.CallToolResult, any, error) {
			got = req.Params.Arguments
			return nil, nil, nil
		})
		d.server.AddTool(&mcp.Tool{Name: "room.delete", InputSchema: json.RawMessage(`{"type":"object","properties":{"confirm":{"const":true}}}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return fine(t.Context(), nil)
			})
		d.tool("power.abort", fine)
		d.behind(t, power())
		cs := d.connect(t, era, nil)
		for range 2 { // the server's own schemas are not touched
			list, err := cs.ListTools(t.Context(), nil)
			require.NoError(t, err)
			shown := map[string]string{}
			for _, tool := range list.Tools {
				schema, err := json.Marshal(tool.InputSchema.(map[string]any)["properties"])
				require.NoError(t, err)
				shown[tool.Name] = string(schema)
			}
			assert.Equal(t, `null`, shown["look"])
			assert.JSONEq(t, `{"confirm":{"const":true}}`, shown["room.delete"], "the server's own stays")
			assert.JSONEq(t, `{"confirm":{"type":"boolean","description":"Must be true, and only after the user agreed: this cannot be undone."}}`, shown["power.abort"])
			assert.Contains(t, shown["power.create"], `when operation is one of [\"ForceOff\",\"Nmi\",7,true].`)
		}
		res := call(t, cs, "power.create", `{"operation":"ForceOff","confirm":true,"big":1e3}`)
		require.False(t, res.IsError, "the schema would refuse an argument that it does not know: %s", text(res))
		assert.JSONEq(t, `{"operation":"ForceOff","big":1e3}`, string(got))
	})
}

func TestAToolMayKeepAnArgumentOfItsOwn(t *testing.T) {
	d := newDesk("room.delete")
	o := everything("room.delete")
	o.Tools[0].KeepConfirm = true
	o.Confirm = []policy.Confirm{{Tool: "room.delete"}}
	d.behind(t, o)
	cs := d.connect(t, oldEra, nil)
	assert.True(t, call(t, cs, "room.delete", `{"confirm":1}`).IsError)
	assert.False(t, call(t, cs, "room.delete", `{"confirm":true}`).IsError)
	assert.Equal(t, []string{`room.delete {"confirm":true}`}, d.reached())
}

// asked makes a client whose user answers so. The questions of one round are put at the same
// time, and each answer's content is the SDK's to change.
func asked(answer *mcp.ElicitResult, err error, questions *[]string) *mcp.ClientOptions {
	var mu sync.Mutex
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		mu.Lock()
		defer mu.Unlock()
		*questions = append(*questions, req.Params.Message)
		return &mcp.ElicitResult{Action: answer.Action, Content: maps.Clone(answer.Content)}, err
	}}
}

func TestTheUserIsAsked(t *testing.T) {
	for _, tc := range []struct {
		reason string
		answer *mcp.ElicitResult
		code   string // "": the call passes
	}{
		{"yes", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, ""},
		{"the form was sent with the box empty", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": false}}, policy.CodeDeclined},
		{"no", &mcp.ElicitResult{Action: "decline"}, policy.CodeDeclined},
		{"no answer", &mcp.ElicitResult{Action: "cancel"}, policy.CodeConfirmationRequired},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			each(t, func(t *testing.T, era string) {
				d := newDesk("power.create", "power.abort", "room.delete", "look")
				_, j := d.behind(t, power())
				var questions []string
				cs := d.connect(t, era, asked(tc.answer, nil, &questions))
				res := call(t, cs, "power.create", `{"operation":"forceoff"}`)
				assert.Equal(t, []string{`Run power.create for operation "forceoff"? It cannot be undone.`}, questions)
				if tc.code == "" {
					assert.False(t, res.IsError, text(res))
					assert.Equal(t, []string{`power.create {"operation":"forceoff"}`}, d.reached())
				} else {
					assert.Equal(t, tc.code, envelope(t, res).Code)
					assert.Empty(t, d.reached())
				}
				lines := j.lines(t)
				if era == oldEra {
					assert.Len(t, lines, 1)
				} else { // the question ends one call, the answer comes with another
					require.Len(t, lines, 2)
					assert.Equal(t, []any{"error", "confirmation asked for"}, []any{lines[0]["result"], lines[0]["error_detail"]})
				}
			})
		})
	}
}

func TestTheUserIsNotAskedInVain(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		d := newDesk("power.create", "power.abort", "room.delete", "look")
		d.behind(t, power())
		var questions []string
		cs := d.connect(t, era, asked(&mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil, &questions))
		assert.False(t, call(t, cs, "room.delete", `{"confirm":true}`).IsError, "the caller has asked already")
		assert.True(t, call(t, cs, "room.delete", `{"confirm":"true"}`).IsError, "a wrong argument is an answer: no")
		assert.True(t, call(t, cs, "room.delete", `{"confirm":false}`).IsError)
		assert.False(t, call(t, cs, "power.create", `{"operation":"On"}`).IsError, "no rule fits")
		assert.Empty(t, questions)
	})
}

func TestAnAnswerNobodyAskedForIsAnAnswerAllTheSame(t *testing.T) {
	d := newDesk("power.create", "power.abort", "room.delete", "look")
	d.behind(t, power())
	var questions []string
	cs := d.connect(t, newEra, asked(&mcp.ElicitResult{Action: "decline"}, nil, &questions))
	for _, tc := range []struct {
		answers mcp.InputResponseMap
		passes  bool
	}{
		{mcp.InputResponseMap{"shakedown_confirm": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}}, true},
		{mcp.InputResponseMap{"shakedown_confirm": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": "true"}}}, false},
		{mcp.InputResponseMap{"shakedown_confirm": &mcp.ElicitResult{Action: "accept"}}, false},
		{mcp.InputResponseMap{"another": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}}, false},
	} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "room.delete", InputResponses: tc.answers})
		require.NoError(t, err)
		assert.Equal(t, !tc.passes, res.IsError, fmt.Sprint(tc.answers))
	}
}

// A tool that has a question of its own, after the gate's.
func TestAToolWithAQuestionOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		d := newDesk()
		var states []string
		d.server.AddTool(&mcp.Tool{Name: "room.delete", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				states = append(states, req.Params.RequestState)
				if _, ok := req.Params.InputResponses["which"]; ok {
					assert.Len(t, req.Params.InputResponses, 1, "the gate's question is not the tool's affair")
					return fine(t.Context(), nil)
				}
				return &mcp.CallToolResult{RequestState: "half-way", InputRequests: mcp.InputRequestMap{"which": &mcp.ElicitParams{Message: "Which?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean"}}}`)}}}, nil
			})
		o := everything("room.delete")
		o.Confirm = []policy.Confirm{{Tool: "*.delete"}}
		d.behind(t, o)
		var questions []string
		cs := d.connect(t, era, asked(&mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil, &questions))
		res := call(t, cs, "room.delete", `{"id":"7"}`)
		assert.False(t, res.IsError, text(res))
		const ours = "Run room.delete? It cannot be undone."
		want := []string{ours, "Which?"}
		if era == newEra { // each round is a call
			want = []string{ours, ours, "Which?"}
		}
		assert.ElementsMatch(t, want, questions)
		assert.Equal(t, []string{"", "half-way"}, states)
	})
}

func TestAUserWhoDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("power.create", "power.abort", "room.delete", "look")
		o := power()
		d.behind(t, o)
		cs := d.connect(t, oldEra, &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		began := time.Now()
		e := envelope(t, call(t, cs, "room.delete", `{}`))
		assert.Equal(t, policy.CodeConfirmationRequired, e.Code)
		assert.Contains(t, e.Hint, "the user could not be asked")
		assert.Equal(t, 2*time.Minute, time.Since(began))
		assert.Empty(t, d.reached())
	})
}
