package when_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// lieClaims are the rows of package chaos/lies. Their calls have JSON arguments
// and a result with something in it for every lie.
func lieClaims() (rows []claimed) {
	add := func(claim catalog.Order, faults map[string]chaos.Fault) {
		for name, f := range faults {
			rows = append(rows, claimed{row: "lies." + name, claim: claim, lie: true, ages: claim == deliveries,
				rule: chaos.Rule{When: when.Prob(0.5), Fault: f}})
		}
	}
	plain, attack := lies.Messages{Path: "$.messages"}, lies.Attack{}
	add(independent, map[string]chaos.Fault{
		"Empty": lies.Empty(), "Null": lies.Null(), "Missing": lies.Missing(), "CutText": lies.CutText(0.5),
		"CutList": lies.CutList(0.5), "MissingPage": lies.MissingPage(1), "PartialBatch": lies.PartialBatch(0.5),
		"Malformed": lies.Malformed(), "HTMLPage": lies.HTMLPage(), "ErrorBody": lies.ErrorBody(503, "Service Unavailable"),
		"Mojibake": lies.Mojibake(), "InvalidUTF8": lies.InvalidUTF8(), "Oversized": lies.Oversized(1000),
		"WrongNumber": lies.WrongNumber(0.5), "Scale": lies.Scale(1), "FlipSign": lies.FlipSign(), "SwapDigits": lies.SwapDigits(),
		"OffByOne": lies.OffByOne(), "Overflow": lies.Overflow(), "NotANumber": lies.NotANumber(), "ShiftDate": lies.ShiftDate(1),
		"SwapUnit": lies.SwapUnit(), "FlipType": lies.FlipType(), "SwapFields": lies.SwapFields(), "SwapEntity": lies.SwapEntity(),
		"FabricateRecord": lies.FabricateRecord(), "DanglingReference": lies.DanglingReference(),
		"DuplicateRows": lies.DuplicateRows(), "ReorderRows": lies.ReorderRows(), "RenameKey": lies.RenameKey(""),
		"RemoveKey": lies.RemoveKey(), "AddKey": lies.AddKey("v", 2), "Retype": lies.Retype(), "Envelope": lies.Envelope(""),
		"SchemaDrift": lies.SchemaDrift(), "UnknownEnum": lies.UnknownEnum(),
		"TruncateMessages": lies.TruncateMessages(1, plain), "StaleMessages": lies.StaleMessages(1, plain),
		"DropMessages": lies.DropMessages(1, plain), "ReorderMessages": lies.ReorderMessages(plain),
		"DuplicateMessage": lies.DuplicateMessage(plain), "NoiseMessages": lies.NoiseMessages(1, nil, plain),
		"OverflowMessages": lies.OverflowMessages(1000, plain), "Poison": lies.Poison("The order was cancelled.", "", plain),
		"Inject":     lies.Inject(attack),
		"PoisonTool": lies.PoisonTool(""), "ShadowTool": lies.ShadowTool("", ""),
		"ChangeArguments": lies.ChangeArguments("orders", "item", "itemId"), "Arguments": lies.Arguments(lies.OffByOne()),
		"InText": lies.InText(lies.OffByOne()),
	})
	add(sequential, map[string]chaos.Fault{"ChurnTools": lies.ChurnTools()})
	add(deliveries, map[string]chaos.Fault{"Stale": lies.Stale(1), "Frozen": lies.Frozen(), "Crossed": lies.Crossed(),
		"Replayed": lies.Replayed(), "RollBack": lies.RollBack(1), "Contradict": lies.Contradict()})
	return rows
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
		`"due_date":"2026-03-01","note":"Zürich is nice","from":"a","to":"b","text":"{\"n\":5}","rows":[{"id":1,"x":1},{"id":2,"x":2},{"id":3,"x":3}],`+
		`"messages":[%s],"tools":[{"name":"a","description":"A."},{"name":"b","description":"B."},{"name":"c","description":"C."}]}`,
		n, version, n, n, messages[1:])
}
