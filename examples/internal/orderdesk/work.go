package orderdesk

import (
	"context"
	"database/sql"
	"fmt"
)

// The work of the tools that change something. Each is done once for a request.

func (s *store) refund(ctx context.Context, in RefundArgs) (Refund, error) {
	const earlier = `SELECT id, order_id, quantity, cents FROM refunds WHERE request = ?`
	return once(ctx, s, earlier, in.RequestID, scanRefund, func(tx *sql.Tx) (*sql.Row, error) {
		order, err := findOrder(ctx, tx, in.Order)
		if err != nil {
			return nil, err
		}
		if err := mayRefund(ctx, tx, order, in.Quantity); err != nil {
			return nil, err
		}
		return tx.QueryRowContext(ctx, `INSERT INTO refunds (order_id, quantity, cents, reason, request) VALUES (?, ?, ?, ?, ?)
			RETURNING id, order_id, quantity, cents`,
			order.ID, in.Quantity, in.Quantity*order.unitCents, in.Reason, nullable(in.RequestID)), nil
	})
}

// mayRefund is the shop's rule: no more items are refunded than were paid for.
func mayRefund(ctx context.Context, tx *sql.Tx, o Order, quantity int) error {
	var refunded int
	err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(quantity), 0) FROM refunds WHERE order_id = ?`,
		o.ID).Scan(&refunded)
	if err == nil && refunded+quantity > o.Quantity {
		return refuse("of order %s, %d of %d are refunded already", o.ID, refunded, o.Quantity)
	}
	return err
}

func scanRefund(row *sql.Row) (Refund, error) {
	var id, cents int
	var r Refund
	if err := row.Scan(&id, &r.Order, &r.Quantity, &cents); err != nil {
		return Refund{}, err
	}
	r.ID, r.Amount = fmt.Sprintf("R-%d", id), euros(cents)
	return r, nil
}

func (s *store) ship(ctx context.Context, in ShipArgs) (Shipment, error) {
	const earlier = `SELECT order_id, tracking FROM shipments WHERE request = ?`
	return once(ctx, s, earlier, in.RequestID, scanShipment, func(tx *sql.Tx) (*sql.Row, error) {
		order, err := findOrder(ctx, tx, in.Order)
		if err != nil {
			return nil, err
		}
		if order.Status != "paid" {
			return nil, refuse("order %s is %s already", order.ID, order.Status)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE orders SET status = 'shipped' WHERE id = ?`, order.ID); err != nil {
			return nil, err
		}
		return tx.QueryRowContext(ctx,
			`INSERT INTO shipments (order_id, tracking, request) VALUES (?, ?, ?) RETURNING order_id, tracking`,
			order.ID, "PL-"+order.ID+"-A", nullable(in.RequestID)), nil
	})
}

func scanShipment(row *sql.Row) (made Shipment, err error) {
	err = row.Scan(&made.Order, &made.Tracking)
	return made, err
}

func (s *store) mail(ctx context.Context, in MailArgs) (Mail, error) {
	const earlier = `SELECT id FROM mails WHERE request = ?`
	return once(ctx, s, earlier, in.RequestID, scanMail, func(tx *sql.Tx) (*sql.Row, error) {
		if _, err := findCustomer(ctx, tx, in.Customer); err != nil {
			return nil, err
		}
		return tx.QueryRowContext(ctx, `INSERT INTO mails (customer, body, request) VALUES (?, ?, ?) RETURNING id`,
			in.Customer, in.Body, nullable(in.RequestID)), nil
	})
}

func scanMail(row *sql.Row) (Mail, error) {
	var id int
	err := row.Scan(&id)
	if err != nil {
		return Mail{}, err
	}
	return Mail{ID: fmt.Sprintf("M-%d", id)}, nil
}
