package behaviour

import (
	"errors"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A Column is a way in which the agent's world breaks.
type Column string

// The columns, in their order.
const (
	ToolError Column = "a tool's error"
	Panic     Column = "panic"
	TimeOut   Column = "time-out"
	LostReply Column = "lost reply"
	Malformed Column = "malformed arguments"
	CutStream Column = "cut stream"
	RateLimit Column = "429 with Retry-After"
	Expired   Column = "expired context"
	Parallel  Column = "parallel calls, one fails"
)

// Columns returns all columns, in their order.
func Columns() []Column {
	return []Column{ToolError, Panic, TimeOut, LostReply, Malformed, CutStream, RateLimit, Expired, Parallel}
}

// What the tools say when they fail.
var (
	errDown  = errors.New("payments: service unavailable")
	panicked = "payments: invalid memory address"
)

const (
	retryAfter = 3 * time.Second
	// cancelAfter is how long after the beginning of the refund its context ends, in the column of that.
	cancelAfter = 20 * time.Millisecond
	// failsAfter is how long the one of two parallel calls takes to fail: the other is under way then.
	failsAfter = 100 * time.Millisecond
)

// A trial is one question under one fault: a case of a column.
type trial struct {
	column Column
	name   string // of the subtest
	label  string // before the words, in a column with several cases
	rules  []chaos.Rule

	together  bool // refund and notify are called in one turn
	streamed  bool
	cut       int  // the turn whose stream ends in its middle; 0: none
	cancelled bool // the context of the question ends during the refund
}

// The turns of the model, which without faults are requests to it: 1 look_up, 2 refund, 3 notify, 4 the answer.
const refundTurn, answerTurn = 2, 4

func at(target string, w chaos.When, faults ...chaos.Fault) (rules []chaos.Rule) {
	for _, how := range faults {
		rules = append(rules, chaos.Rule{Target: target, When: w, Fault: how})
	}
	return rules
}

func trials(f *Framework) []trial {
	atRefund := func(w chaos.When, how ...chaos.Fault) []chaos.Rule { return at(refund, w, how...) }
	atModel := func(w chaos.When, how ...chaos.Fault) []chaos.Rule { return at(f.Target, w, how...) }
	tooMany := chaoshttp.APIError(f.API, chaoshttp.KindRateLimit, &chaoshttp.StatusOptions{RetryAfter: retryAfter})
	all := []trial{
		{column: ToolError, name: "error", rules: atRefund(nil, fault.Fail(errDown))},
		{column: Panic, name: "panic", rules: atRefund(nil, fault.Panic(panicked))},
		{column: TimeOut, name: "time-out", rules: atRefund(nil, fault.Hang())},
		{column: LostReply, name: "lost-reply", rules: atRefund(when.First(1), fault.LoseReply())},
		{column: Malformed, name: "malformed-arguments", rules: atModel(when.Nth(refundTurn), chaoshttp.MalformToolCall())},
		{column: Malformed, name: "malformed-arguments-streamed", label: "streamed", streamed: true, rules: atModel(when.Nth(refundTurn), chaoshttp.MalformToolCall())},
		{column: CutStream, name: "cut-stream-answer", label: "in the answer", streamed: true, cut: answerTurn},
		{column: CutStream, name: "cut-stream-call", label: "in a tool call", streamed: true, cut: refundTurn},
		{column: RateLimit, name: "rate-limit-once", label: "once", rules: atModel(when.Nth(refundTurn), tooMany)},
		{column: RateLimit, name: "rate-limit-always", label: "for ever", rules: atModel(when.After(refundTurn-1), tooMany)},
		{column: Expired, name: "expired-context", rules: atRefund(nil, fault.Delay(time.Minute)), cancelled: true},
		{column: Parallel, name: "parallel", rules: atRefund(nil, fault.Delay(failsAfter), fault.Fail(errDown)), together: true},
	}
	return slices.DeleteFunc(all, func(t trial) bool { return t.streamed && f.Streamed == nil })
}
