package orderdesk

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	_ "modernc.org/sqlite"
)

//go:embed schema.sql
var schema string

// store is the shop's database.
type store struct{ db *sql.DB }

// openStore makes a database in memory and fills it. Each is its own: with
// ":memory:" a database is a connection, so there is exactly one, kept for good.
func openStore(ctx context.Context) (*store, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("orderdesk: open the database: %w", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("orderdesk: fill the database: %w", err), db.Close())
	}
	return &store{db}, nil
}

func (s *store) close() error { return s.db.Close() }

// errRefused is matched by what the shop's rules forbid: trying again cannot help.
var errRefused = errors.New("refused")

// refuse is a refusal whose text may be shown to a customer.
func refuse(format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...)}
}

type refusal struct{ text string }

func (r *refusal) Error() string        { return r.text }
func (r *refusal) Is(target error) bool { return target == errRefused }

// once carries out a request in a transaction, unless the row of an earlier request with the same key is
// there: then it answers as it did then. fn returns the row that it made.
func once[Out any](ctx context.Context, s *store, earlier, request string, scan func(*sql.Row) (Out, error),
	fn func(*sql.Tx) (*sql.Row, error)) (out Out, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return out, err
	}
	defer func() { _ = tx.Rollback() }() // nothing, once it is committed
	out, err = scan(tx.QueryRowContext(ctx, earlier, request))
	if errors.Is(err, sql.ErrNoRows) {
		var made *sql.Row
		if made, err = fn(tx); err == nil {
			out, err = scan(made)
		}
	}
	if err != nil {
		return out, err
	}
	return out, tx.Commit()
}

// nullable stores no idempotency key as NULL.
func nullable(request string) sql.NullString {
	return sql.NullString{String: request, Valid: request != ""}
}

// euros writes an amount as people do.
func euros(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func findOrder(ctx context.Context, q querier, id string) (Order, error) {
	o := Order{ID: id}
	err := q.QueryRowContext(ctx,
		`SELECT customer, item, quantity, unit_cents, status, arrives FROM orders WHERE id = ?`, id).
		Scan(&o.Customer, &o.Item, &o.Quantity, &o.unitCents, &o.Status, &o.Arrives)
	if errors.Is(err, sql.ErrNoRows) {
		return Order{}, refuse("there is no order %s", id)
	}
	o.UnitPrice = euros(o.unitCents)
	return o, err
}

func findCustomer(ctx context.Context, q querier, id string) (Customer, error) {
	c := Customer{ID: id}
	err := q.QueryRowContext(ctx, `SELECT name, email FROM customers WHERE id = ?`, id).Scan(&c.Name, &c.Email)
	if errors.Is(err, sql.ErrNoRows) {
		return Customer{}, refuse("there is no customer %s", id)
	}
	return c, err
}
