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
	driver.SessionResetter
	driver.NamedValueChecker
	connector *connector
	direct    direct // nil: the driver prepares all statements
	targets   map[named]string

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
	c.SessionResetter = optional[driver.SessionResetter](base)
	c.NamedValueChecker = optional[driver.NamedValueChecker](base)
	var ok bool
	if c.direct, ok = base.(direct); ok {
		return &directConn{c}
	}
	return c
}

type directConn struct{ *conn }

// ExecContext executes a statement.
func (c *directConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.exec(ctx, nil, query, args)
}

// QueryContext executes a statement that gives rows.
func (c *directConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(ctx, nil, query, args)
}

// exec executes a statement at its point; s is nil if it is not prepared.
func (c *conn) exec(ctx context.Context, s *stmt, query string, args []driver.NamedValue) (driver.Result, error) {
	p := c.point(ctx, executing, query)
	switch { // without a Statement, whose copies cost more than the rest
	case p.injector != nil:
		return c.arriveExec(ctx, p, Statement{query, args, executing, c, s})
	case s == nil && c.aborted == nil:
		return c.direct.ExecContext(ctx, query, args)
	}
	return c.execNow(ctx, s, query, args)
}

func (c *conn) arriveExec(ctx context.Context, p point, call Statement) (driver.Result, error) {
	x := c.arrive(ctx, p, call)
	if x.PassesThrough() {
		r, err := c.execWhole(ctx, call)
		return r, x.ended(err)
	}
	r, err := cross(ctx, x, func(ctx context.Context, call Statement) (own Result, err error) {
		r, err := c.execWhole(ctx, call)
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

// execNow asks the driver.
func (c *conn) execNow(ctx context.Context, s *stmt, query string, args []driver.NamedValue) (driver.Result, error) {
	switch {
	case c.aborted != nil:
		return nil, c.aborted
	case s != nil:
		return s.execNow(ctx, args)
	}
	return c.direct.ExecContext(ctx, query, args)
}

// execWhole prepares the statement if the driver skips the direct way, so that it remains one call. An inert call is
// not counted, and database/sql prepares it.
func (c *conn) execWhole(ctx context.Context, call Statement) (driver.Result, error) {
	r, err := c.execNow(ctx, call.prepared, call.Query, call.Args)
	if err != driver.ErrSkip {
		return r, err
	}
	s, args, err := c.prepareFor(ctx, call.Query, call.Args)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.execNow(ctx, args)
}

// query is exec for a statement that gives rows.
func (c *conn) query(ctx context.Context, s *stmt, query string, args []driver.NamedValue) (driver.Rows, error) {
	p, ofRows := c.point(ctx, querying, query), c.point(ctx, reading, query)
	if p.injector == nil && ofRows.injector == nil {
		return c.queryNow(ctx, s, query, args)
	}
	return c.arriveQuery(ctx, p, ofRows, Statement{query, args, querying, c, s})
}

func (c *conn) arriveQuery(ctx context.Context, p, ofRows point, call Statement) (r driver.Rows, err error) {
	if x := c.arrive(ctx, p, call); x.PassesThrough() {
		r, err = c.queryWhole(ctx, call)
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
		base, err := c.queryWhole(ctx, call)
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
		return c.rowsOf(without{}), nil
	case r.held == nil && r.also == nil:
		return r.base, nil
	}
	return r, nil
}

func (c *conn) queryNow(ctx context.Context, s *stmt, query string, args []driver.NamedValue) (driver.Rows, error) {
	switch {
	case c.aborted != nil:
		return nil, c.aborted
	case s != nil:
		return s.queryNow(ctx, args)
	}
	return c.direct.QueryContext(ctx, query, args)
}

func (c *conn) queryWhole(ctx context.Context, call Statement) (driver.Rows, error) {
	r, err := c.queryNow(ctx, call.prepared, call.Query, call.Args)
	if err != driver.ErrSkip {
		return r, err
	}
	s, args, err := c.prepareFor(ctx, call.Query, call.Args)
	if err != nil {
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

// IsValid reports whether the connection may be used again.
func (c *conn) IsValid() bool { return !c.broken && optional[driver.Validator](c.Conn).IsValid() }

func (c *conn) unwrap() driver.Conn { return c.Conn }
