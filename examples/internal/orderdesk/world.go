package orderdesk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// NewWorld returns a function that makes a world: an agent with these habits, its
// tools and a database. Every call opens and fills another database, so worlds
// share nothing and cells may run at the same time.
func NewWorld(h Habits) func(context.Context) (*contract.World, error) {
	return func(ctx context.Context) (*contract.World, error) {
		s, err := openStore(ctx)
		if err != nil {
			return nil, err
		}
		registry, err := tools(s)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		return &contract.World{
			Agent: Agent(h),
			Tools: registry,
			State: func(ctx context.Context) (any, error) { return s.state(ctx) },
			Close: s.close,
		}, nil
	}
}

// Played returns a function that makes a world whose tools answer as in a session. No tool
// runs: its state has the refunds that the played calls made.
func Played(h Habits) func(context.Context, *replay.Session, chaos.ToolRegistry) (*contract.World, error) {
	return func(_ context.Context, _ *replay.Session, tools chaos.ToolRegistry) (*contract.World, error) {
		state := func(ctx context.Context) (any, error) {
			done, err := tools.(*replay.Player).State(ctx)
			if err != nil {
				return nil, err
			}
			state := State{Refunds: []string{}}
			for _, e := range done.(replay.Effects) {
				if e.Tool != makeRefund {
					continue
				}
				var args RefundArgs
				if err := json.Unmarshal(e.Args, &args); err != nil {
					return nil, err
				}
				state.Refunds = append(state.Refunds, args.Order)
			}
			return state, nil
		}
		return &contract.World{Agent: Agent(h), Tools: tools, State: state}, nil
	}
}

// State is what the database holds of what the agent did.
type State struct {
	Refunds   []string          `json:"refunds"`   // the orders refunded, one entry a refund
	Shipments []string          `json:"shipments"` // the orders shipped
	Mails     []string          `json:"mails"`     // the names of those written to, one entry a mail
	Orders    map[string]string `json:"orders"`    // the status of each order
}

func (s *store) state(ctx context.Context) (st State, err error) {
	var doc []byte
	err = s.db.QueryRowContext(ctx, `SELECT json_object(
		'refunds',   json((SELECT json_group_array(order_id ORDER BY id) FROM refunds)),
		'shipments', json((SELECT json_group_array(order_id ORDER BY id) FROM shipments)),
		'mails',     json((SELECT json_group_array(name ORDER BY mails.id) FROM mails JOIN customers ON customers.id = customer)),
		'orders',    json((SELECT json_group_object(id, status) FROM orders)))`).Scan(&doc)
	if err == nil {
		err = json.Unmarshal(doc, &st)
	}
	if err != nil {
		return State{}, fmt.Errorf("orderdesk: read the state: %w", err)
	}
	return st, nil
}
