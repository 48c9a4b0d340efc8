package chaossql

import (
	"context"
	"database/sql/driver"
	"errors"
)

// tx is a transaction. Its end belongs to the call that began it.
type tx struct {
	base     driver.Tx // nil: a fault only told that it began
	c        *conn
	ctx      context.Context
	readOnly bool
}

// Begin begins a transaction without a context.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx begins a transaction.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	x := c.arrive(ctx, c.point(ctx, beginning, ""), Statement{op: beginning, conn: c})
	if x.PassesThrough() {
		base, err := c.beginNow(ctx, o)
		if x.ended(err) != nil {
			return nil, err
		}
		return c.began(ctx, base, o), nil // also without an injector: a later statement may have one
	}
	open := false
	t, err := cross(ctx, x, func(ctx context.Context, _ Statement) (*tx, error) {
		if open {
			return nil, unsent("sql: a connection has one transaction at a time")
		}
		base, err := c.beginNow(ctx, o)
		open = err == nil
		return &tx{base: base}, err
	}, func(t *tx) { c.rollback(t.base) })
	switch {
	case err != nil:
		return nil, err
	case t == nil: // the driver was not asked, and the caller is told that it was
		return &tx{}, nil
	}
	return c.began(ctx, t.base, o), nil
}

func (c *conn) began(ctx context.Context, base driver.Tx, o driver.TxOptions) driver.Tx {
	c.tx = tx{base, c, ctx, o.ReadOnly} // a connection has one at a time
	c.inTx = true
	return &c.tx
}

// beginNow asks the driver, as database/sql does.
func (c *conn) beginNow(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if b, ok := c.Conn.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, o)
	}
	switch {
	case o.Isolation != 0:
		return nil, errors.New("sql: driver does not support non-default isolation level")
	case o.ReadOnly:
		return nil, errors.New("sql: driver does not support read-only transactions")
	}
	base, err := c.Conn.Begin() //lint:ignore SA1019 older drivers have it alone
	if err == nil && ctx.Err() != nil {
		base.Rollback()
		return nil, ctx.Err()
	}
	return base, err
}

// Commit commits the transaction.
func (t *tx) Commit() error { return t.end(committing) }

// Rollback takes the transaction back.
func (t *tx) Rollback() error { return t.end(rollingBack) }

func (t *tx) end(op operation) error {
	if t.base == nil {
		return nil
	}
	x := t.c.arrive(t.ctx, t.c.point(t.ctx, op, ""), Statement{op: op, conn: t.c})
	if x.PassesThrough() {
		return x.ended(t.endNow(op))
	}
	asked := false
	defer func() {
		if !asked {
			t.c.rollback(t.base) // as a database does that loses its client
		}
		t.c.leave()
	}()
	_, err := cross(t.ctx, x, func(context.Context, Statement) (struct{}, error) {
		if asked {
			return struct{}{}, unsent("sql: transaction has already been committed or rolled back")
		}
		asked = true
		return struct{}{}, t.endNow(op)
	}, nil)
	t.c.noteLoss(err)
	return err
}

// endNow asks the driver. What was aborted is not committed.
func (t *tx) endNow(op operation) error {
	aborted := t.c.aborted
	t.c.leave()
	switch {
	case op == rollingBack:
		return t.base.Rollback()
	case aborted != nil:
		t.c.rollback(t.base)
		return aborted
	}
	return t.base.Commit()
}

func (c *conn) rollback(base driver.Tx) {
	if base.Rollback() != nil {
		c.broken = true
	}
}

// unsent is the error of a call that did not reach the driver, as package chaos is told.
type unsent string

func (e unsent) Error() string { return string(e) }

// Unsent reports that the driver was not asked.
func (unsent) Unsent() bool { return true }
