package chaossql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
)

// Options are the settings of [Wrap]; the zero value works.
type Options struct {
	_ struct{}
	// Target is what the names of the injection points begin with. Empty: "sql".
	Target string
	// Statement names the point of a statement, such as "find_order"; empty: it has no name of its own. It
	// must be a pure function, safe for concurrent use. nil: no statement has a name.
	Statement func(query string) string
	// Error gives the driver's own error for one of this package's, such as that of SQLSTATE 40001 for
	// [ErrSerialization]. The caller's error matches both. nil, or a nil result: the error of this package.
	Error func(err error) error
	// Injector binds the points to an injector, whatever the contexts of calls carry: for code that drops its
	// context, and for connections that database/sql opens in the background. nil: that of the context.
	Injector *chaos.Injector
}

// Wrap makes injection points of the calls of a database, for sql.OpenDB. base must not be nil; o may be nil. Without
// an injector calls go to base unchanged. The connector is safe for concurrent use if base is.
func Wrap(base driver.Connector, o *Options) driver.Connector {
	c := &connector{base: base, opts: *cmp.Or(o, &Options{})}
	for op, name := range [...]string{"connect", "ping", "begin", "commit", "rollback", "query", "exec", "rows"} {
		c.targets[op] = cmp.Or(c.opts.Target, "sql") + "." + name
	}
	return c
}

// Connector is a connector of a driver that has none, for a data source name as sql.Open takes it. d must not be nil.
func Connector(d driver.Driver, dsn string) (driver.Connector, error) {
	if d, ok := d.(driver.DriverContext); ok {
		return d.OpenConnector(dsn)
	}
	return source{d, dsn}, nil
}

type source struct {
	driver driver.Driver
	dsn    string
}

func (s source) Connect(context.Context) (driver.Conn, error) { return s.driver.Open(s.dsn) }
func (s source) Driver() driver.Driver                        { return s.driver }

// Unwrap returns the driver's own connection of a wrapped one, for the function of sql.Conn.Raw; any other value as it
// is. Calls on it are no injection points.
func Unwrap(driverConn any) any {
	if c, ok := driverConn.(interface{ unwrap() driver.Conn }); ok {
		return c.unwrap()
	}
	return driverConn
}

// operation is what a call asks of the database.
type operation int

const (
	connecting operation = iota
	pinging
	beginning
	committing
	rollingBack
	querying
	executing
	reading
)

type connector struct {
	base    driver.Connector
	opts    Options
	targets [reading + 1]string
	open    atomic.Int64 // connections
}

// Driver is that of the wrapped connector.
func (c *connector) Driver() driver.Driver { return c.base.Driver() }

// Close closes the wrapped connector if it can be closed; sql.DB.Close calls it.
func (c *connector) Close() error {
	if base, ok := c.base.(io.Closer); ok {
		return base.Close()
	}
	return nil
}

// Connect opens a connection.
func (c *connector) Connect(ctx context.Context) (opened driver.Conn, err error) {
	own := &conn{connector: c, targets: map[named]string{}, others: c.open.Add(1) - 1}
	defer func() {
		if opened == nil { // also if a fault panicked
			c.open.Add(-1)
		}
	}()
	x := own.arrive(ctx, own.point(ctx, connecting, ""), Statement{op: connecting, conn: own})
	if x.PassesThrough() {
		base, err := c.base.Connect(ctx)
		if x.ended(err) != nil {
			return nil, err
		}
		return own.of(base), nil
	}
	made, err := cross(ctx, x, func(ctx context.Context, _ Statement) (*connection, error) {
		base, err := c.base.Connect(ctx)
		return &connection{base}, err
	}, func(made *connection) { made.base.Close() })
	switch {
	case err != nil:
		return nil, err
	case made == nil: // the driver was not asked, and the caller is told that it was
		return nil, errors.New("the driver gave no connection")
	}
	return own.of(made.base), nil
}

// connection is a driver's connection as faults see it: what is in it must not be read or compared.
type connection struct{ base driver.Conn }

// SameAs reports whether two connections are one, for package chaos.
func (c *connection) SameAs(other any) (same, known bool) { return other == any(c), true }

// ownError is the driver's error for one of this package's, which it matches too.
func (c *connector) ownError(err error) error {
	if c.opts.Error == nil {
		return err
	}
	if own := c.opts.Error(err); own != nil {
		return &ownError{own, err}
	}
	return err
}

type ownError struct{ own, portable error }

func (e *ownError) Error() string   { return e.own.Error() }
func (e *ownError) Unwrap() []error { return []error{e.own, e.portable} }
