package behaviour

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// The names of the tools.
const (
	lookUp = "look_up"
	refund = "refund"
	notify = "notify"
)

// How long the desk works. An end of the context before the work is done leaves it undone.
const (
	refundTakes = 50 * time.Millisecond
	notifyTakes = 200 * time.Millisecond
)

// order is the one that the desk knows.
const order, amount = "1042", "24.50"

// A State is what the desk has done. It is what invariants of the contract see.
type State struct {
	Refunds []string `json:"refunds,omitempty"` // the orders, one for each refund
	Mails   []string `json:"mails,omitempty"`   // the orders, one for each mail
}

// desk is the shop that the tools work on.
type desk struct {
	mu    sync.Mutex
	state State
}

type orderArgs struct {
	Order string `json:"order"`
}

type refundArgs struct {
	Order  string `json:"order"`
	Amount string `json:"amount"`
}

type notifyArgs struct {
	Order string `json:"order"`
	Text  string `json:"text"`
}

func schema(members ...string) json.RawMessage {
	properties := map[string]any{}
	for _, m := range members {
		properties[m] = map[string]string{"type": "string"}
	}
	doc, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": members})
	if err != nil {
		panic(err) // strings always have JSON
	}
	return doc
}

// tools are those of the desk. They know no idempotency keys, as most tools do not.
func (d *desk) tools() (*chaos.Registry, error) {
	return chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: lookUp, Description: "Looks an order up.", InputSchema: schema("order"), Effect: chaos.EffectNone},
			func(_ context.Context, in orderArgs) (map[string]string, error) {
				if err := known(in.Order); err != nil {
					return nil, err
				}
				return map[string]string{"order": in.Order, "status": "delivered", "paid": amount}, nil
			}),
		chaos.Func(chaos.Tool{Name: refund, Description: "Refunds an amount of an order.", InputSchema: schema("order", "amount"), Effect: chaos.EffectDone},
			func(ctx context.Context, in refundArgs) (map[string]string, error) {
				if in.Amount == "" {
					return nil, errors.New("amount is missing")
				}
				return d.do(ctx, in.Order, refundTakes, "refunded", &d.state.Refunds)
			}),
		chaos.Func(chaos.Tool{Name: notify, Description: "Writes a mail to the customer of an order.", InputSchema: schema("order", "text"), Effect: chaos.EffectDone},
			func(ctx context.Context, in notifyArgs) (map[string]string, error) {
				return d.do(ctx, in.Order, notifyTakes, "sent", &d.state.Mails)
			}),
	)
}

func known(id string) error {
	if id != order {
		return errors.New("there is no such order: " + id)
	}
	return nil
}

// do enters an effect into the books, after the time that it takes.
func (d *desk) do(ctx context.Context, id string, takes time.Duration, done string, book *[]string) (map[string]string, error) {
	if err := known(id); err != nil {
		return nil, err
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	*book = append(*book, id)
	return map[string]string{"order": id, "status": done}, nil
}

// now is what the books say.
func (d *desk) now() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return State{Refunds: slices.Clone(d.state.Refunds), Mails: slices.Clone(d.state.Mails)}
}
