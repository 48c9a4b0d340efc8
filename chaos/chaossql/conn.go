package chaossql

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/shakedown-go/shakedown/chaos"
)

// conn is a connection. One goroutine at a time uses it.
type conn struct {
	driver.Conn
	connector *connector
	direct    direct // nil: the driver prepares all statements
	names     map[operation]map[string]string

	now     Statement // of the call that begins
	tx      tx        // the last one
	inTx    bool
	aborted error // why the transaction can only be rolled back; nil: it need not
	broken  bool  // it must not be used again
	others  int64 // connections that were open when this one was asked for
}

// direct is what a driver has that executes statements which are not prepared.
type direct interface {
	driver.ExecerContext
	driver.QueryerContext
}

// of is the connection around the driver's. It has the methods of direct if the driver has them: database/sql converts
// values otherwise without.
func (c *conn) of(base driver.Conn) driver.Conn {
	c.Conn = base
	var ok bool
	if c.direct, ok = base.(direct); ok {
		return &directConn{c}
	}
	return c
}

type directConn struct{ *conn }

// ExecContext executes a statement.
func (c *directConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	p := c.point(ctx, executing, query)
	if p.injector == nil && c.aborted == nil { // without a Statement, whose copies cost more than the rest
		return c.direct.ExecContext(ctx, query, args)
	}
	return c.exec(ctx, p, Statement{query, args, executing, c.conn, nil})
}

// QueryContext executes a statement that gives rows.
func (c *directConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	p, ofRows := c.point(ctx, querying, query), c.point(ctx, reading, query)
	if p.injector == nil && ofRows.injector == nil && c.aborted == nil {
		return c.direct.QueryContext(ctx, query, args)
	}
	return c.query(ctx, p, ofRows, Statement{query, args, querying, c.conn, nil})
}

func (c *conn) exec(ctx context.Context, p point, call Statement) (driver.Result, error) {
	x := c.arrive(ctx, p, call)
	if x.PassesThrough() {
		r, err := c.execNow(ctx, call, p.injector == nil)
		return r, x.ended(err)
	}
	r, err := cross(ctx, x, func(ctx context.Context, call Statement) (own Result, err error) {
		r, err := c.execNow(ctx, call, false)
		if err == nil && r != nil {
			own = resultOf(r)
		}
		return own, err
	}, nil)
	c.noteLoss(err)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// execNow asks the driver. If that skips, the statement is prepared here, so that it remains one call. An inert call is
// not counted, and database/sql prepares it.
func (c *conn) execNow(ctx context.Context, call Statement, inert bool) (driver.Result, error) {
	s, args := call.prepared, call.Args
	switch {
	case c.aborted != nil:
		return nil, c.aborted
	case s != nil:
		return s.execNow(ctx, args)
	}
	r, err := c.direct.ExecContext(ctx, call.Query, args)
	if err != driver.ErrSkip || inert {
		return r, err
	}
	if s, args, err = c.prepareFor(ctx, call.Query, args); err != nil {
		return nil, err
	}
	defer s.Close()
	return s.execNow(ctx, args)
}

func (c *conn) query(ctx context.Context, p, ofRows point, call Statement) (r driver.Rows, err error) {
	if x := c.arrive(ctx, p, call); x.PassesThrough() {
		r, err = c.queryNow(ctx, call, p.injector == nil)
		x.ended(err)
	} else {
		r, err = c.injectQuery(ctx, x)
	}
	if err != nil {
		return nil, err
	}
	return c.read(ctx, ofRows, r, call), nil
}

func (c *conn) injectQuery(ctx context.Context, x arrival) (driver.Rows, error) {
	var last *rows
	r, err := cross(ctx, x, func(ctx context.Context, call Statement) (*rows, error) {
		if last != nil {
			last.release(ctx) // a connection has one query at a time
		}
		base, err := c.queryNow(ctx, call, false)
		if err != nil {
			return nil, err
		}
		last = c.rowsOf(base)
		return last, nil
	}, func(r *rows) { r.Close() })
	c.noteLoss(err)
	switch {
	case err != nil:
		return nil, err
	case r == nil: // the driver was not asked, and the caller is told that it was
		return &rows{of: c, base: without{}}, nil
	case r.held == nil && r.also == nil:
		return r.base, nil
	}
	return r, nil
}

// queryNow is execNow for a query.
func (c *conn) queryNow(ctx context.Context, call Statement, inert bool) (driver.Rows, error) {
	s, args := call.prepared, call.Args
	switch {
	case c.aborted != nil:
		return nil, c.aborted
	case s != nil:
		return s.queryNow(ctx, args)
	}
	r, err := c.direct.QueryContext(ctx, call.Query, args)
	if err != driver.ErrSkip || inert {
		return r, err
	}
	if s, args, err = c.prepareFor(ctx, call.Query, args); err != nil {
		return nil, err
	}
	if r, err = s.queryNow(ctx, args); err != nil {
		s.Close()
		return nil, err
	}
	own := c.rowsOf(r)
	own.also = s
	return own, nil
}

// noteLoss notes what an injected error of a statement means for its transaction and its connection.
func (c *conn) noteLoss(err error) {
	switch {
	case !errors.Is(err, chaos.ErrInjected):
	case errors.Is(err, driver.ErrBadConn):
		c.broken, c.aborted = true, lostConn{}
	case c.inTx && (errors.Is(err, ErrSerialization) || errors.Is(err, ErrDeadlock)):
		c.aborted = ErrAborted
	}
}

// leave notes that the transaction has ended.
func (c *conn) leave() {
	if c.inTx = false; !c.broken {
		c.aborted = nil
	}
}

// lostConn is the error of calls on a connection that was lost.
type lostConn struct{ unsent }

func (lostConn) Error() string        { return driver.ErrBadConn.Error() }
func (lostConn) Is(target error) bool { return target == driver.ErrBadConn }

// Ping asks the database whether it is there.
func (c *conn) Ping(ctx context.Context) error {
	x := c.arrive(ctx, c.point(ctx, pinging, ""), Statement{op: pinging, conn: c})
	if x.PassesThrough() {
		return x.ended(optional[driver.Pinger](c.Conn).Ping(ctx))
	}
	_, err := cross(ctx, x, func(ctx context.Context, _ Statement) (struct{}, error) {
		return struct{}{}, optional[driver.Pinger](c.Conn).Ping(ctx)
	}, nil)
	return err
}

// Close closes the connection.
func (c *conn) Close() error {
	c.connector.open.Add(-1)
	return c.Conn.Close()
}

// ResetSession is called before the connection is used again.
func (c *conn) ResetSession(ctx context.Context) error {
	return optional[driver.SessionResetter](c.Conn).ResetSession(ctx)
}

// IsValid reports whether the connection may be used again.
func (c *conn) IsValid() bool { return !c.broken && optional[driver.Validator](c.Conn).IsValid() }

// CheckNamedValue is the driver's check of a value.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	return optional[driver.NamedValueChecker](c.Conn).CheckNamedValue(v)
}

func (c *conn) unwrap() driver.Conn { return c.Conn }
