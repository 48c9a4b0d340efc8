package planjson

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

type (
	afterItems struct {
		After int `json:"after" bounds:"min=0" doc:"number of items that come before"`
	}
	cut struct {
		After int   `json:"after" bounds:"min=0" doc:"number of items that come before"`
		Err   error `json:"message" doc:"text of the error; the text of a ready-made error gives that error"`
	}
	lateItems struct {
		Duration time.Duration `json:"duration" doc:"time that an item takes longer"`
	}
	itemWindow struct {
		Window int `json:"window" bounds:"min=2" doc:"number of items that change places with each other"`
	}
	namedItem struct {
		After int    `json:"after" bounds:"min=0" doc:"number of items that come before"`
		Name  string `json:"name" doc:"what the function does"`
		Type  string `json:"type" doc:"the Go type that it takes"`
	}
)

// streamKinds are the faults of the items of a stream.
func streamKinds() []*catalog.Row {
	return []*catalog.Row{
		faultRow("stream_cut", "fault.CutAfter(n), fault.CutAfterWith(n, err)", "A stream breaks off with an error.",
			`{"after":2,"message":"unexpected EOF"}`,
			func(p cut) chaos.Fault { return fault.CutAfterWith(p.After, p.Err) }),
		faultRow("stream_hang", "fault.HangAtItem(n)", "A stream stalls until its context ends.", `{"after":2}`,
			func(p afterItems) chaos.Fault { return fault.HangAtItem(p.After) }),
		faultRow("slow_first_item", "fault.SlowFirstItem(d)", "The first item of a stream takes longer.", `{"duration":"5s"}`,
			func(p lateItems) chaos.Fault { return fault.SlowFirstItem(p.Duration) }),
		faultRow("slow_items", "fault.SlowItems(d)", "Every item of a stream takes longer.", `{"duration":"500ms"}`,
			func(p lateItems) chaos.Fault { return fault.SlowItems(p.Duration) }),
		faultRow("duplicate_item", "fault.DuplicateItem(n)", "An item of a stream arrives twice.", `{"after":1}`,
			func(p afterItems) chaos.Fault { return fault.DuplicateItem(p.After) }),
		faultRow("malformed_item", "fault.MalformItem(n)", "An item of a stream cannot be decoded.", `{"after":1}`,
			func(p afterItems) chaos.Fault { return fault.MalformItem(p.After) }),
		inCode[namedItem](false, "mutate_item", "fault.MutateItem(n, name, fn)", "An item of a stream becomes what a Go function makes of it.",
			`{"after":1,"name":"shout","type":"string"}`),
		faultRow("early_end", "fault.EndAfter(n)", "A stream ends early and without an error.", `{"after":2}`,
			func(p afterItems) chaos.Fault { return fault.EndAfter(p.After) }),
		faultRow("missing_terminator", "fault.DropLastItem()", "A stream lacks its last item.", `{}`,
			func(none) chaos.Fault { return fault.DropLastItem() }),
		faultRow("reordered_items", "fault.ReorderItems(window)", "The items of a stream come in another order.", `{"window":3}`,
			func(p itemWindow) chaos.Fault { return fault.ReorderItems(p.Window) }),
	}
}
