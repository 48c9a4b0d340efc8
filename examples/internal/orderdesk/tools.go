package orderdesk

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/shakedown-go/shakedown/chaos"
)

// The tools, by name: the injection points that scenarios aim at.
const (
	getOrder    = "orders.get"
	getCustomer = "customers.get"
	makeRefund  = "payments.refund"
	shipOrder   = "shipping.ship"
	sendMail    = "mail.send"
)

// Order is what orders.get returns.
type Order struct {
	ID        string `json:"id"`
	Customer  string `json:"customer"`
	Item      string `json:"item"`
	Quantity  int    `json:"quantity"`
	UnitPrice string `json:"unit_price"`
	Status    string `json:"status"`            // paid, shipped or delivered
	Arrives   string `json:"arrives,omitempty"` // a date, once it is shipped

	unitCents int
}

// Customer is what customers.get returns.
type Customer struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// RefundArgs are the arguments of payments.refund. RequestID is its
// idempotency key: a request with a key that was carried out before returns
// what it returned then.
type RefundArgs struct {
	Order     string `json:"order"`
	Quantity  int    `json:"quantity"`
	Reason    string `json:"reason"`
	RequestID string `json:"request_id,omitempty"`
}

// Refund is what payments.refund returns.
type Refund struct {
	ID       string `json:"id"`
	Order    string `json:"order"`
	Quantity int    `json:"quantity"`
	Amount   string `json:"amount"`
}

// ShipArgs are the arguments of shipping.ship; RequestID as in [RefundArgs].
type ShipArgs struct {
	Order     string `json:"order"`
	RequestID string `json:"request_id,omitempty"`
}

// Shipment is what shipping.ship returns.
type Shipment struct {
	Order    string `json:"order"`
	Tracking string `json:"tracking"`
}

// MailArgs are the arguments of mail.send; RequestID as in [RefundArgs].
type MailArgs struct {
	Customer  string `json:"customer"`
	Body      string `json:"body"`
	RequestID string `json:"request_id,omitempty"`
}

// Mail is what mail.send returns.
type Mail struct {
	ID string `json:"id"`
}

// tools makes the agent's tools of the store. That is all an agent has to do
// for faults to reach them: they are called through a chaos.ToolRegistry.
func tools(s *store) (*chaos.Registry, error) {
	read := func(name, does string) chaos.Tool {
		return chaos.Tool{Name: name, Description: does, Effect: chaos.EffectNone}
	}
	write := func(name, does string) chaos.Tool {
		return chaos.Tool{Name: name, Description: does, Effect: chaos.EffectDone, IdempotencyKey: "/request_id"}
	}
	return chaos.NewRegistry(
		chaos.Func(read(getOrder, "Look up an order."),
			func(ctx context.Context, in struct{ Order string }) (Order, error) {
				return findOrder(ctx, s.db, in.Order)
			}),
		chaos.Func(read(getCustomer, "Look up a customer."),
			func(ctx context.Context, in struct{ Customer string }) (Customer, error) {
				return findCustomer(ctx, s.db, in.Customer)
			}),
		chaos.Func(write(makeRefund, "Pay back some items of an order."), s.refund),
		chaos.Func(write(shipOrder, "Hand a paid order to the carrier."), s.ship),
		chaos.Func(write(sendMail, "Write to a customer."), s.mail),
	)
}

// Tools lists what the tools declare, to read the traces of the desk by.
func Tools(ctx context.Context) ([]chaos.Tool, error) {
	registry, err := tools(nil) // none is called
	if err != nil {
		return nil, err
	}
	return registry.Tools(ctx)
}

// Results are checked before they are believed: a reply can be well-formed and
// still not be what was asked for.

var errMalformed = errors.New("the reply is not what was asked for")

func (o Order) valid() bool    { return o.ID != "" && o.Customer != "" && o.Status != "" }
func (c Customer) valid() bool { return c.ID != "" && c.Name != "" }
func (r Refund) valid() bool   { return r.ID != "" && r.Amount != "" }
func (s Shipment) valid() bool { return s.Tracking != "" }
func (m Mail) valid() bool     { return m.ID != "" }

// A told is a failure that a result tells in so many words, as habits.TellFailures of package contract/habits puts it.
// Like a model, the agent heeds what results say, with any habits: it does not ask again, and does not say that it was done.
type told struct{ Tool, Message string }

func (t *told) Error() string { return t.Tool + ": " + t.Message }

func isTold(err error) bool {
	var t *told
	return errors.As(err, &t)
}

// decode reads the reply of a tool.
func decode[Out interface{ valid() bool }](reply json.RawMessage) (Out, error) {
	var out Out
	var said struct{ Error *told }
	if json.Unmarshal(reply, &said) == nil && said.Error != nil && said.Error.Message != "" {
		return out, said.Error
	}
	if err := json.Unmarshal(reply, &out); err != nil {
		return out, errors.Join(errMalformed, err)
	}
	if !out.valid() {
		return out, errMalformed
	}
	return out, nil
}
