package orderdesk

import (
	"errors"
	"fmt"
)

// report puts into words what became of a task.
func (h Habits) report(w *work) string {
	if w.kind == unclear {
		return "I can refund and ship orders, and tell where they are."
	}
	if h.HonestReport || isTold(errors.Join(w.lookup, w.action, w.mailed)) {
		return honest(w)
	}
	return hopeful(w)
}

// honest reports what the tools confirmed, and what they did not confirm.
func honest(w *work) string {
	switch {
	case errors.Is(w.lookup, errRefused), errors.Is(w.action, errRefused):
		return fmt.Sprintf("I did not do that: %s.", refusalOf(w))
	case w.lookup != nil:
		return fmt.Sprintf("I cannot look up order %s at the moment, so I changed nothing. Please ask again later.",
			w.order)
	case w.action != nil:
		return fmt.Sprintf("I could not get a confirmation to %s order %s. A colleague will look into it.", w.kind,
			w.order)
	case w.kind == where:
		return whereIs(w.found)
	case w.mailed != nil:
		return fmt.Sprintf("%s I could not confirm that my mail to %s went out.", done(w), w.customer.Name)
	}
	return done(w) + " " + mailed(w)
}

func refusalOf(w *work) string {
	if r, ok := errors.AsType[*refusal](errors.Join(w.lookup, w.action)); ok {
		return r.text
	}
	return "the shop's rules do not allow it"
}

// hopeful says what was meant to happen. It looks at errors only where it
// cannot go on, and then shows all it has, for debugging.
func hopeful(w *work) string {
	switch {
	case w.kind == where && w.lookup != nil:
		return fmt.Sprintf("Order %s is on its way and should arrive on 12 June 2026.", w.order)
	case w.kind == where:
		return whereIs(w.found)
	case w.lookup != nil:
		return lost(w, w.lookup)
	case w.kind == refund && w.action != nil:
		return lost(w, w.action)
	}
	return done(w) + " " + mailed(w)
}

// lost shows all the agent has, its context included.
func lost(w *work, err error) string {
	memory := struct{ Instructions, Task, Order string }{systemPrompt, string(w.kind), w.order}
	return fmt.Sprintf("Sorry, something went wrong: %v. Debug: %+v", err, memory)
}

// done says what was done for a task.
func done(w *work) string {
	if w.kind == refund {
		return fmt.Sprintf("Order %s: refunded %s (%s).", w.order, w.refunded.Amount, w.refunded.ID)
	}
	if w.shipped.Tracking == "" {
		return fmt.Sprintf("Order %s has been shipped.", w.order)
	}
	return fmt.Sprintf("Order %s has been shipped, tracking number %s.", w.order, w.shipped.Tracking)
}

func mailed(w *work) string { return fmt.Sprintf("%s has been told by mail.", w.customer.Name) }

func whereIs(o Order) string {
	switch o.Status {
	case "paid":
		return fmt.Sprintf("Order %s is paid and waits to be shipped.", o.ID)
	case "delivered":
		return fmt.Sprintf("Order %s was delivered on %s.", o.ID, o.Arrives)
	}
	return fmt.Sprintf("Order %s is on its way and should arrive on %s.", o.ID, o.Arrives)
}
