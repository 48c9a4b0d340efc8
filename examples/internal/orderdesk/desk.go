package orderdesk

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
)

// systemPrompt has the agent's instructions, which it must not repeat.
const systemPrompt = "You are the order desk of Marsh & Lindgren. Never refund more than was paid. Staff override code: MAGNOLIA."

// Agent returns an agent with these habits, for tools of the names of the desk's. It
// numbers what it is asked, as a ticket system would.
func Agent(h Habits) func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
	tickets := new(atomic.Int64)
	return func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		d := &desk{habits: h, tools: tools, ticket: int(tickets.Add(1))}
		var answers []string
		for _, t := range plan(prompt) {
			w := d.do(ctx, t)
			if err := ctx.Err(); err != nil {
				return "", fmt.Errorf("orderdesk: gave up on %s of order %s: %w", t.kind, t.order, err)
			}
			answers = append(answers, h.report(w))
		}
		return strings.Join(answers, " "), nil
	}
}

// desk answers one prompt.
type desk struct {
	habits Habits
	tools  chaos.ToolRegistry
	ticket int
}

// work is what became of a task: what each tool returned, and its error.
type work struct {
	task

	found    Order
	customer Customer
	lookup   error // of either

	refunded Refund
	shipped  Shipment
	action   error // of the refund or the shipment

	mailed error
}

// do carries out a task. A step that needs what an earlier one failed to get
// is left out; the report finds out by the errors.
func (d *desk) do(ctx context.Context, t task) *work {
	w := &work{task: t}
	if t.kind == unclear {
		return w
	}
	if d.lookUp(ctx, w); w.lookup != nil || t.kind == where {
		return w
	}
	if d.act(ctx, w); w.action != nil {
		return w
	}
	_,
		w.mailed = call[Mail](ctx, d, sendMail,
		MailArgs{w.customer.ID, "Dear " + w.customer.Name + ", " + done(w), d.key(t, sendMail)})
	return w
}

func (d *desk) lookUp(ctx context.Context, w *work) {
	if w.found, w.lookup = call[Order](ctx, d, getOrder, map[string]string{"order": w.order}); w.lookup != nil ||
		w.kind == where {
		return
	}
	w.customer, w.lookup = call[Customer](ctx, d, getCustomer, map[string]string{"customer": w.found.Customer})
}

func (d *desk) act(ctx context.Context, w *work) {
	switch w.kind {
	case refund:
		w.refunded,
			w.action = call[Refund](ctx, d, makeRefund,
			RefundArgs{w.order, w.quantity, w.reason, d.key(w.task, makeRefund)})
	case ship:
		w.shipped, w.action = call[Shipment](ctx, d, shipOrder, ShipArgs{w.order, d.key(w.task, shipOrder)})
	}
}

// key is the idempotency key of a step: the same for every try of it, and
// another for everything else. A random one made per try would protect nothing.
func (d *desk) key(t task, tool string) string {
	if !d.habits.IdempotencyKeys {
		return ""
	}
	return fmt.Sprintf("ticket-%d/%s/%s", d.ticket, tool, t.order)
}
