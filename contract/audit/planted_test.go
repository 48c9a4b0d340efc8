package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
)

// A planted tool pays an order in steps with pauses between them. What it is decides what it does about a second call.
type planted struct {
	is    string
	shape int              // of the state
	steps [3]time.Duration // before the first step, between the two, after the second
	deaf  bool             // it does not look at its context
}

const opaque = 3 // a shape of which two states show whether they are equal, and no more

var semantics = map[string]audit.Verdict{
	"safe": audit.Safe, "safe-rolls-back": audit.Safe, "safe-with-key": audit.SafeWithKey, "safe-with-required-key": audit.SafeWithKey,
	"reads": audit.Safe, "doubles": audit.Doubles, "doubles-at-once": audit.Doubles, "doubles-after-restart": audit.Doubles,
	"wedged-lock": audit.Wedged, "wedged-refuses": audit.Wedged, "partly": audit.PartlyDone, "doubles-when-cancelled": audit.Doubles,
}

// backend is what the tool works on.
type backend struct {
	planted
	mu      sync.Mutex
	serial  chan struct{} // held by one call at a time, where the tool is safe
	memory  map[string]bool
	stored  map[string]bool
	paid    int
	written []string
	locked  bool
}

type order struct {
	Order string `json:"order"`
	Key   string `json:"idempotency_key,omitempty"`
}

func (b *backend) pause(ctx context.Context, i int) error {
	if b.deaf {
		time.Sleep(b.steps[i])
		return nil
	}
	select {
	case <-time.After(b.steps[i]):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *backend) do(f func()) { b.mu.Lock(); defer b.mu.Unlock(); f() }

func (b *backend) pay()           { b.do(func() { b.paid++ }) }
func (b *backend) write(in order) { b.do(func() { b.written = append(b.written, in.Order) }) }
func (b *backend) whole(in order) { b.pay(); b.write(in) }
func (b *backend) has(m map[string]bool, k string) (yes bool) {
	b.do(func() { yes = m[k] })
	return yes
}
func (b *backend) set(m map[string]bool, k string) { b.do(func() { m[k] = true }) }

// once does the work one call at a time, and once for each id.
func (b *backend) once(ctx context.Context, in order, id string) error {
	b.serial <- struct{}{}
	defer func() { <-b.serial }()
	if err := b.pause(ctx, 0); err != nil {
		return err
	}
	if b.has(b.stored, id) {
		return nil
	}
	if err := b.pause(ctx, 1); err != nil {
		return err
	}
	b.whole(in)
	b.set(b.stored, id)
	return b.pause(ctx, 2)
}

func (b *backend) call(ctx context.Context, in order) (string, error) {
	var err error
	switch b.is {
	case "safe":
		err = b.once(ctx, in, in.Order)
	case "safe-rolls-back":
		err = b.rollBack(ctx, in)
	case "safe-with-key", "safe-with-required-key":
		if in.Key == "" && b.is == "safe-with-required-key" {
			return "", errors.New("idempotency_key is missing")
		}
		id := in.Key
		if id == "" {
			b.do(func() { id = fmt.Sprint("call ", len(b.written), time.Now().UnixNano()) })
		}
		err = b.once(ctx, in, id)
	case "reads":
		err = b.pause(ctx, 1)
	case "doubles":
		if err = b.pause(ctx, 0); err == nil {
			b.whole(in)
			err = b.pause(ctx, 2)
		}
	case "doubles-at-once", "doubles-after-restart":
		err = b.checked(ctx, in)
	default:
		err = b.stepwise(ctx, in)
	}
	return "paid", err
}

func (b *backend) rollBack(ctx context.Context, in order) error {
	b.serial <- struct{}{}
	defer func() { <-b.serial }()
	if b.has(b.stored, in.Order) {
		return nil
	}
	b.pay()
	if err := b.pause(ctx, 1); err != nil {
		b.do(func() { b.paid-- })
		return err
	}
	b.write(in)
	b.set(b.stored, in.Order)
	return b.pause(ctx, 2)
}

// checked looks whether the work is done before it does it: without a lock, or in memory that a restart forgets.
func (b *backend) checked(ctx context.Context, in order) error {
	known := b.stored
	if b.is == "doubles-after-restart" {
		known = b.memory
		b.serial <- struct{}{}
		defer func() { <-b.serial }()
	}
	if b.has(known, in.Order) {
		return nil
	}
	if err := b.pause(ctx, 1); err != nil {
		return err
	}
	b.whole(in)
	b.set(known, in.Order)
	return b.pause(ctx, 2)
}

// stepwise does the two steps with a pause between them in which it may be cancelled.
func (b *backend) stepwise(ctx context.Context, in order) error {
	b.serial <- struct{}{}
	defer func() { <-b.serial }()
	if b.locked {
		return errors.New("the order is locked")
	}
	if b.has(b.stored, in.Order) {
		if b.is == "wedged-refuses" {
			return errors.New("the order was paid")
		}
		return nil
	}
	if err := b.pause(ctx, 0); err != nil {
		return err
	}
	if b.is == "fails-at-first" && b.paid == 1 && len(b.written) == 0 { // and a repeated call goes on
		b.write(in)
		return nil
	}
	b.pay()
	switch b.is {
	case "fails-at-first":
		return errors.New("not now")
	case "wedged-lock":
		b.locked = true
	case "partly":
		b.set(b.stored, in.Order)
	}
	if err := b.pause(ctx, 1); err != nil {
		return err
	}
	b.write(in)
	b.set(b.stored, in.Order)
	b.locked = false
	return b.pause(ctx, 2)
}

func (b *backend) state(context.Context) (any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.shape {
	case 0:
		return map[string]any{"balance": 100 - 10*b.paid, "orders": append([]string{}, b.written...)}, nil
	case 1:
		return map[string]any{"paid": b.paid, "written": len(b.written)}, nil
	case opaque:
		return fmt.Sprint(b.paid, " paid, ", len(b.written), " written"), nil
	}
	payments := map[string]any{}
	for i := range b.paid {
		payments[fmt.Sprint("p", i)] = map[string]any{"amount": 10}
	}
	return map[string]any{"payments": payments, "log": append([]string{}, b.written...)}, nil
}

func (p planted) world() (*audit.World, error) {
	b := &backend{planted: p, serial: make(chan struct{}, 1), memory: map[string]bool{}, stored: map[string]bool{}}
	schema := `{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}`
	switch p.is {
	case "safe-with-key":
		schema = `{"type":"object","properties":{"order":{"type":"string"},"idempotency_key":{"type":"string"}},"required":["order"]}`
	case "safe-with-required-key":
		schema = `{"type":"object","properties":{"order":{"type":"string"},"idempotency_key":{"type":"string"}},
			"required":["order","idempotency_key"]}`
	}
	tool := chaos.Tool{Name: "pay", InputSchema: json.RawMessage(schema)}
	if p.is == "reads" {
		tool.Effect = chaos.EffectNone
	}
	tools, err := chaos.NewRegistry(chaos.Func(tool, b.call))
	return &audit.World{Tools: tools, State: b.state, Restart: func(context.Context) error {
		b.do(func() { clear(b.memory) })
		return nil
	}}, err
}

func plant(r *rand.Rand) planted {
	kinds := []string{"safe", "safe-rolls-back", "safe-with-key", "safe-with-required-key", "reads", "doubles", "doubles-at-once",
		"doubles-after-restart", "wedged-lock", "wedged-refuses", "partly", "doubles-when-cancelled"}
	ms := func(least, most int) time.Duration { return time.Duration(least+r.IntN(most-least)) * time.Millisecond }
	p := planted{is: kinds[r.IntN(len(kinds))], shape: r.IntN(3), steps: [3]time.Duration{ms(1, 40), ms(40, 100), ms(1, 40)}}
	switch p.is {
	case "wedged-lock", "partly", "doubles-when-cancelled": // they look at it
	case "wedged-refuses":
		p.deaf = true // else it doubles, too
	default:
		p.deaf = r.IntN(2) == 0
	}
	return p
}

func auditOf(t *testing.T, p planted) (tool audit.ToolResult) {
	synctest.Test(t, func(t *testing.T) {
		r, err := audit.Run(t.Context(), &audit.Options{Sandbox: true, Cancellations: 2,
			NewWorld: func(context.Context) (*audit.World, error) { return p.world() }}, nil)
		require.NoError(t, err)
		require.Len(t, r.Tools, 1)
		tool = r.Tools[0]
	})
	return tool
}

// Of 1,000 planted tools none is called safe that is not, and at least 95 % are told what they are. Those that break
// when they are cancelled take at least a third of a call between their steps; see TestCancellations.
func TestPlanted(t *testing.T) {
	const groups = 4 // they run in parallel
	each := 250
	if raceDetector { // it looks for races, and is slow; the law is held by the run without it
		each = 60
	}
	var told atomic.Int64
	t.Run("groups", func(t *testing.T) {
		for g := range groups {
			t.Run(fmt.Sprint(g), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(35, uint64(g)))
				for range each {
					if toldWhatItIs(t, plant(r)) {
						told.Add(1)
					}
				}
			})
		}
	})
	t.Logf("%d of %d were told what they are", told.Load(), groups*each)
	assert.GreaterOrEqual(t, told.Load(), int64(groups*each*95/100))
}

func toldWhatItIs(t *testing.T, p planted) bool {
	is, tool := semantics[p.is], auditOf(t, p)
	if tool.Verdict == audit.Safe || tool.Verdict == audit.SafeWithKey && is == audit.SafeWithKey {
		assert.Equal(t, is, tool.Verdict, "%+v", p)
	}
	if tool.Verdict != is {
		t.Logf("%+v: %v: %s", p, tool.Verdict, tool.Why)
	}
	return tool.Verdict == is
}
