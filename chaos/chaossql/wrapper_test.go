package chaossql_test

import (
	"context"
	"database/sql/driver"
	"io"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
)

// askedConn asks a function whenever it is asked for a kind of operation, and gives the items of a source as rows.
type askedConn struct {
	fullConn
	asked  map[string]func() error
	source func() iter.Seq2[any, error]
	result driver.Result
}

func (c *askedConn) ask(op string) error {
	if f := c.asked[op]; f != nil {
		return f()
	}
	return nil
}

func (c *askedConn) Connect(context.Context) (driver.Conn, error) { return c, c.ask("connect") }
func (c *askedConn) Driver() driver.Driver                        { return nil }
func (c *askedConn) Ping(context.Context) error                   { return c.ask("ping") }
func (c *askedConn) Commit() error                                { return c.ask("commit") }
func (c *askedConn) Rollback() error                              { return c.ask("rollback") }
func (c *askedConn) Close() error                                 { return nil }
func (c *askedConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return c, c.ask("begin")
}
func (c *askedConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return c.result, c.ask("exec")
}
func (c *askedConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	if err := c.ask("query"); err != nil {
		return nil, err
	}
	r := &sourceRows{}
	if c.source != nil {
		r.next, r.stop = iter.Pull2(c.source())
	}
	return r, nil
}

type sourceRows struct {
	next func() (any, error, bool)
	stop func()
}

func (r *sourceRows) Columns() []string { return []string{"n"} }
func (r *sourceRows) Close() error {
	if r.stop != nil {
		r.stop()
	}
	return nil
}
func (r *sourceRows) Next(dest []driver.Value) error {
	if r.next == nil {
		return io.EOF
	}
	item, err, more := r.next()
	if !more {
		return io.EOF
	}
	dest[0] = item
	return err
}

// All points of a connection are sound, each with the others before it.
func TestPointsAreSound(t *testing.T) {
	values := []driver.NamedValue{{Ordinal: 1, Value: "A1"}}
	use := map[string]func(context.Context, driver.Conn) (any, error){
		"ping": func(ctx context.Context, c driver.Conn) (any, error) { return nil, c.(driver.Pinger).Ping(ctx) },
		"exec": func(ctx context.Context, c driver.Conn) (any, error) {
			r, err := c.(driver.ExecerContext).ExecContext(ctx, "INSERT ?", values)
			if err != nil {
				return nil, err
			}
			n, err := r.RowsAffected()
			return n, err
		},
		"query": func(ctx context.Context, c driver.Conn) (any, error) {
			r, err := c.(driver.QueryerContext).QueryContext(ctx, "SELECT ?", values)
			if err == nil {
				err = r.Close()
			}
			return nil, err
		},
		"begin": func(ctx context.Context, c driver.Conn) (any, error) {
			_, err := c.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
			return nil, err
		},
	}
	for _, end := range []string{"commit", "rollback"} {
		use[end] = func(ctx context.Context, c driver.Conn) (any, error) {
			tx, err := c.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
			switch {
			case err != nil:
				return nil, err
			case end == "commit":
				return nil, tx.Commit()
			}
			return nil, tx.Rollback()
		}
	}
	var points []chaostest.Point
	for op, do := range use {
		p := chaostest.Point{Target: "sql." + op, Open: func(reached func() error) func(context.Context) (any, error) {
			base := &askedConn{asked: map[string]func() error{op: reached}, result: driver.RowsAffected(1)}
			conn, err := chaossql.Wrap(base, nil).Connect(context.Background())
			require.NoError(t, err)
			return func(ctx context.Context) (any, error) { return do(ctx, conn) }
		}}
		if op == "exec" {
			p.Replacement, p.Replaced = chaossql.Result{Affected: 7}, int64(7)
		}
		points = append(points, p)
	}
	points = append(points, chaostest.Point{Target: "sql.connect", Open: func(reached func() error) func(context.Context) (any, error) {
		wrapped := chaossql.Wrap(&askedConn{asked: map[string]func() error{"connect": reached}}, nil)
		return func(ctx context.Context) (any, error) {
			_, err := wrapped.Connect(ctx)
			return nil, err
		}
	}})
	check := func(t *testing.T) {
		for _, p := range points {
			assert.NoError(t, chaostest.Wrapper(p), p.Target)
		}
		assert.NoError(t, chaostest.Streams(chaostest.Stream{Target: "sql.rows", Items: []any{int64(1), int64(2), int64(3), int64(4)},
			Open: func(source func() iter.Seq2[any, error]) func(context.Context) iter.Seq2[any, error] {
				conn, err := chaossql.Wrap(&askedConn{source: source}, nil).Connect(context.Background())
				require.NoError(t, err)
				return func(ctx context.Context) iter.Seq2[any, error] {
					return func(yield func(any, error) bool) {
						rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "SELECT", nil)
						if err != nil {
							yield(nil, err)
							return
						}
						defer rows.Close()
						for dest := make([]driver.Value, 1); ; {
							switch err := rows.Next(dest); {
							case err == io.EOF:
								return
							case !yield(dest[0], err) || err != nil:
								return
							}
						}
					}
				}
			}}))
	}
	synctest.Test(t, check)
}
