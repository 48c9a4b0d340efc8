package lies_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// addressed are lies at a path that was found by chance.
func addressed(path string) []chaos.Fault {
	return []chaos.Fault{
		lies.Empty(path), lies.Null(path), lies.Missing(path), lies.CutText(0.3, path), lies.CutList(0.3, path), lies.MissingPage(1, path),
		lies.PartialBatch(0.3, path), lies.Mojibake(path), lies.Oversized(50, path), lies.WrongNumber(0.2, path),
		lies.Scale(-2, path), lies.FlipSign(path), lies.SwapDigits(path), lies.OffByOne(path), lies.Overflow(path), lies.ShiftDate(40, path),
		lies.SwapUnit(path), lies.FlipType(path), lies.SwapFields(path, "$"), lies.SwapEntity(path), lies.FabricateRecord(path),
		lies.DanglingReference(path), lies.DuplicateRows(path), lies.ReorderRows(path), lies.RenameKey("", path), lies.RemoveKey(path),
		lies.AddKey("v", 2, path), lies.Retype(path), lies.Envelope("", path), lies.UnknownEnum(path),
		lies.TruncateMessages(1, lies.Messages{Path: path}), lies.Inject(lies.Attack{Paths: []string{path}}),
	}
}

// Any bytes, any path: no lie panics, each is honest, and what was JSON stays
// JSON under those that say so.
func FuzzLies(f *testing.F) {
	f.Add([]byte(`{"a":[{"id":1,"role":"user"},{"id":20.5e3,"role":"x y"}],"b":"2026-01-01 5 km, €3"}`), "$..id", uint64(1))
	f.Add([]byte("plain text \xff 12.50 EUR"), "$", uint64(2))
	f.Add([]byte(`[[],{},"",0,-0.0,1e999,null,true]`), "$.*", uint64(3))
	f.Add([]byte(`[{"name":"a","inputSchema":{}},{"name":"b"}]`), "$[*].name", uint64(4))
	f.Fuzz(func(t *testing.T, doc []byte, path string, seed uint64) {
		if len(doc) > 2000 {
			return
		}
		faults := all()
		if _, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: lies.Null(path)}); err == nil {
			faults = append(faults, addressed(path)...)
		}
		for _, fault := range faults {
			p, err := chaos.NewPlan(seed, chaos.Rule{Name: "lie", Target: "*", Fault: fault})
			require.NoError(t, err)
			in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
			got, err := chaos.WrapRegistry(&desk{docs: []string{string(doc)}}, in).CallTool(context.Background(), "get", nil)
			require.NoError(t, err)
			e := in.Events()[0]
			d := fault.(chaos.Described).Describe()
			if d.Kind == "changed_arguments" || d.Kind == "changed_call" {
				continue
			}
			require.Equal(t, !bytes.Equal(got, doc), e.Delivered, "%s: %q of %q", d.Kind, got, doc)
			if json.Valid(doc) && !breaksJSON(d.Kind) {
				require.True(t, json.Valid(got), "%s: %q of %q", d.Kind, got, doc)
			}
			line, err := json.Marshal(e)
			require.NoError(t, err)
			require.True(t, utf8.Valid(line))
		}
	})
}

// Lies are used by many goroutines at once, those that remember too.
func TestConcurrentUse(t *testing.T) {
	for _, f := range all() {
		tools, in := injectorOf(t, &desk{docs: []string{chat, orders, `"a text of 5 km"`}}, f)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 8 {
					_, err := tools.CallTool(t.Context(), "get", fmt.Appendf(nil, `{"b":1,"i":%d}`, (w+i)%3))
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		assert.Len(t, in.Events(), 32)
	}
}
