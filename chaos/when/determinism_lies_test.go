package when_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// lieClaims are claims about lies. Their calls have JSON arguments and a result with
// something in it for every lie.
func lieClaims() []claimed {
	lie := func(row string, f chaos.Fault) claimed {
		return claimed{row: row, claim: independent, lie: true, rule: chaos.Rule{When: when.Prob(0.5), Fault: f}}
	}
	return []claimed{lie("lies.InText", lies.InText(lies.OffByOne())),
		lie("lies.ChangeArguments", lies.ChangeArguments("orders", "item", "itemId"))}
}

// teller is what stands behind the points of a row about lies.
type teller struct {
	ages bool // an answer tells how often its item was asked for
	mu   sync.Mutex
	seen map[string]int
}

type wanted struct {
	Item int `json:"item"`
}

func (w *teller) point(target string) func(context.Context, int) (string, error) {
	ask := chaos.WrapWith(target, func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
		var in wanted
		err := json.Unmarshal(args, &in)
		return json.RawMessage(w.answer(target, in.Item)), err
	}, &chaos.WrapOptions[json.RawMessage]{Key: func(args json.RawMessage) uint64 {
		var in wanted
		_ = json.Unmarshal(args, &in)
		return keyOf(in.Item)
	}})
	return func(ctx context.Context, n int) (string, error) {
		result, err := ask(ctx, fmt.Appendf(nil, `{"item":%d}`, n))
		return string(result), err
	}
}

func (w *teller) answer(target string, n int) string {
	version := 0
	if w.ages {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen[fmt.Sprint(target, n)]++
		version = w.seen[fmt.Sprint(target, n)]
	}
	messages := strings.Repeat(`,{"role":"user","content":"Where is it?"},{"role":"assistant","content":"On its way."}`, 2)
	return fmt.Sprintf(`{"id":%d,"version":%d,"order_id":"C-%d5","total":20%d.90,"rate":0.19,"currency":"EUR","status":"open",`+
		`"usage":{"prompt_tokens":9,"completion_tokens":9},"due_date":"2026-03-01","note":"Zürich is nice","from":"a","to":"b","text":"{\"n\":5}","rows":[{"id":1,"x":1},{"id":2,"x":2},{"id":3,"x":3}],`+
		`"messages":[%s],"tools":[{"name":"a","description":"A."},{"name":"b","description":"B."},{"name":"c","description":"C."}]}`,
		n, version, n, n, messages[1:])
}
