package lies_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// Parameters that make no sense are named, each with what is allowed.
func TestWrongParameters(t *testing.T) {
	long := strings.Repeat("x", 2001)
	for want, f := range map[string]chaos.Fault{
		`cut_text: keep is 1; allowed: a share from 0 to below 1`:                        lies.CutText(1),
		`cut_list: keep is -0.1`:                                                         lies.CutList(-0.1),
		`cut_list: keep is NaN`:                                                          lies.CutList(math.NaN()),
		`missing_page: size is 0; allowed: an integer of 1 or more`:                      lies.MissingPage(0),
		`partial_batch: lost is 0; allowed: a share above 0, up to 1`:                    lies.PartialBatch(0),
		`error_result: code is 200; allowed: an integer from 400 to 599`:                 lies.ErrorBody(200, "x"),
		`error_result: message is ""; allowed: a text`:                                   lies.ErrorBody(500, ""),
		`oversized_result: bytes is 67108865; allowed: an integer from 1 to 67108864`:    lies.Oversized(64<<20 + 1),
		`wrong_number: within is NaN; allowed: a share above 0, up to 1`:                 lies.WrongNumber(math.NaN()),
		`wrong_number: within is +Inf`:                                                   lies.WrongNumber(math.Inf(1)),
		`scaled_number: power is 0; allowed: from -18 to 18, not 0`:                      lies.Scale(0),
		`shifted_date: days is 0`:                                                        lies.ShiftDate(0),
		`swapped_fields: paths is 1 of them; allowed: two, or none`:                      lies.SwapFields("$.a"),
		`null_value: paths[1] is "a.b"; allowed: a JSON path such as "$.items[0].price"`: lies.Null("$", "a.b"),
		`added_key: name is ""; allowed: a name that is not empty`:                       lies.AddKey("", 1),
		`added_key: value is chan int; allowed: a value that has JSON`:                   lies.AddKey("a", make(chan int)),
		`truncated_messages: keep is -1; allowed: an integer of 0 or more`:               lies.TruncateMessages(-1, lies.Messages{}),
		`stale_messages: n is 0; allowed: an integer of 1 or more`:                       lies.StaleMessages(0, lies.Messages{}),
		`dropped_messages: path is "m"`:                                                  lies.DropMessages(1, lies.Messages{Path: "m"}),
		`noise_messages: n is 1001; allowed: an integer from 1 to 1000`:                  lies.NoiseMessages(1001, nil, lies.Messages{}),
		`noise_messages: texts[1] is ""; allowed: a text that is not empty`:              lies.NoiseMessages(1, []string{"a", ""}, lies.Messages{}),
		`overflowed_messages: bytes is 0`:                                                lies.OverflowMessages(0, lies.Messages{}),
		`poisoned_memory: text is " "`:                                                   lies.Poison(" ", "", lies.Messages{}),
		`stale_result: lag is 65; allowed: an integer from 1 to 64`:                      lies.Stale(65),
		`rolled_back_memory: lag is 0`:                                                   lies.RollBack(0),
		`slipped_instruction: texts[0] is 2001 bytes; allowed: at most 2000 bytes`:       lies.Inject(lies.Attack{Texts: []string{long}}),
		`hijacked_goal: paths[0] is "$."`:                                                lies.Inject(lies.Attack{Kind: lies.GoalHijack, Paths: []string{"$."}}),
		`poisoned_tool: texts is ""`:                                                     lies.PoisonTool("", ""),
		`shadowed_tool: name is "a"; allowed: a name other than the tool's`:              lies.ShadowTool("a", "a"),
		`changed_arguments: to is "a"; allowed: another name than the argument's`:        lies.ChangeArguments("t", "a", "a"),
		`changed_arguments: tool is ""; allowed: a name that is not empty`:               lies.ChangeArguments("", "a", "b"),
		`changed_call: fault: scaled_number: power is 19`:                                lies.Arguments(lies.Scale(19)),
		`lie_in_text: fault is stale_result; allowed: a lie about one result`:            lies.InText(lies.Stale(1)),
		`lie_in_text: fault: scaled_number: power is 0`:                                  lies.InText(lies.Scale(0)),
		`lie_in_text: paths[0] is "x"`:                                                   lies.InText(lies.Null(), "x"),
		`changed_call: fault is <nil>; allowed: a fault that changes results`:            lies.Arguments(nil),
	} {
		_, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: "*", Fault: f})
		require.Error(t, err, want)
		assert.Contains(t, err.Error(), want)
		var problem *chaos.ParamError
		assert.ErrorAs(t, err, &problem)
	}
}

// all are faults of every constructor, with parameters.
func all() []chaos.Fault {
	list := []chaos.Fault{lies.Stale(2), lies.Frozen(), lies.Crossed(), lies.Replayed(), lies.RollBack(3), lies.Contradict(),
		lies.PoisonTool("a", "b"), lies.ShadowTool("a", "b"), lies.ChurnTools(), lies.ChangeArguments("a", "b", "c"), lies.Arguments(lies.Null("$.a"))}
	for _, r := range catalogue() {
		list = append(list, r.fault)
	}
	return list
}

// The parameters of a fault are those that it was made with.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		fault chaos.Fault
		want  string
	}{
		{lies.Scale(-2, "$.a", "$.b"), `{"power":-2,"paths":["$.a","$.b"]}`},
		{lies.AddKey("v", []int{1}), `{"name":"v","value":[1]}`},
		{lies.Poison("x", "user", lies.Messages{Path: "$.m"}), `{"text":"x","role":"user","path":"$.m"}`},
		{lies.Inject(lies.Attack{Kind: lies.Exfiltration, Texts: []string{"{canary}"}}), `{"texts":["{canary}"]}`},
		{lies.InText(lies.Null("$.a"), "$.t"), `{"fault":{"kind":"null_value","params":{"paths":["$.a"]}},"paths":["$.t"]}`},
		{lies.RenameKey("b", "$.a"), `{"to":"b","paths":["$.a"]}`},
	} {
		assert.JSONEq(t, c.want, string(c.fault.(chaos.Described).Describe().Params))
	}
}

// A slice that is given to a constructor may be used for something else after.
func TestParametersAreCopied(t *testing.T) {
	paths, texts := []string{"$.a"}, []string{"one"}
	null, instruct := lies.Null(paths...), lies.Inject(lies.Attack{Texts: texts})
	paths[0], texts[0] = "$.b", "two"
	got, _ := once(t, null, `{"a":1,"b":2}`)
	assert.Equal(t, `{"a":null,"b":2}`, got)
	got, _ = once(t, instruct, `"x"`)
	assert.Equal(t, `"x one"`, got)
}
