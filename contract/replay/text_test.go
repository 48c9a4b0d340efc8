package replay_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

func ExampleText() {
	refund := findings.Call{Tool: "refund", Args: json.RawMessage(`{"order":1042}`), Effect: findings.Done}
	lost := refund
	lost.Error, lost.Took = &findings.CallError{Text: "i/o timeout"}, 2*time.Second
	refund.At, refund.Took = 2*time.Second, 40*time.Millisecond
	err := replay.Text(os.Stdout, &replay.Session{Name: "refund-1042", Source: replay.Origin{Dialect: "otlp"},
		Prompts: []string{"Refund order 1042"}, Answer: "Refunded.",
		Tools: []chaos.Tool{{Name: "refund", Effect: chaos.EffectDone}}, Calls: []findings.Call{lost, refund}})
	if err != nil {
		panic(err)
	}
	// Output:
	// refund-1042: otlp, 2 calls, recorded at an unknown time
	//   prompt      Refund order 1042
	//   answer      Refunded.
	//   call 1      refund, 2s, effect done; i/o timeout
	//   call 2      refund, 40ms, effect done; ok
	//   finding     retry, calls [1 2]: refund was called again once after it had failed with "i/o timeout".
	//   finding     duplicate-effect, calls [1 2]: the effect of refund was done 2 times for equal arguments.
	//   not judged  fabricated: the answer has no fact that could be looked up; a structured outcome or a twin run would decide.
}

func TestTextOfHoles(t *testing.T) {
	var b strings.Builder
	require.NoError(t, replay.Text(&b, &replay.Session{Name: "holes", NotImported: 2, Notes: []string{"an answer to no call"}, Answer: "\x1b[31mred",
		Calls: []findings.Call{{Tool: "refund", Missing: []findings.Part{findings.Result, findings.End}}}}))
	for _, part := range []string{"holes: no dialect, 1 call", "missing [result end]", "note        an answer to no call", "not judged  ", `\x1b[31mred`} {
		assert.Contains(t, b.String(), part)
	}
	assert.Error(t, replay.Text(&b, &replay.Session{Calls: []findings.Call{{}}}), "a call without a tool")
}
