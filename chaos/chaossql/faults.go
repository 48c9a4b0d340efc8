package chaossql

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Errors of databases, whatever the driver. [Options].Error gives the driver's own in their place.
var (
	// ErrSerialization is that of a transaction which cannot be put in an order with the others; it may be tried again.
	ErrSerialization = errors.New("could not serialize access due to concurrent update")
	// ErrDeadlock is that of a transaction which was given up, so that others can go on; it may be tried again.
	ErrDeadlock = errors.New("deadlock detected")
	// ErrTooManyConnections is that of a database that takes no more connections.
	ErrTooManyConnections = errors.New("too many connections")
	// ErrAborted is what a transaction says to statements after [ErrSerialization] or [ErrDeadlock] was injected in it,
	// and to its commit, which rolls it back.
	ErrAborted error = abortedError{}
)

type abortedError struct{ unsent }

func (abortedError) Error() string {
	return "current transaction is aborted, commands ignored until end of transaction block"
}

// BadConn loses the connection before the call is sent: [driver.ErrBadConn]. database/sql tries the call again by
// itself, up to twice, unless it reads rows, or a transaction or a sql.Conn holds the connection. Each try is a call of
// its own: a rule with when.Nth(1) fails the first. A transaction is lost with its connection.
func BadConn() chaos.Fault { return badConn.Of(catalog.None{}) }

var badConn = &catalog.Fail[catalog.None]{
	Row: catalog.Row{Kind: "bad_connection", Doc: "The connection is lost before the call; database/sql tries again.",
		Go: "chaossql.BadConn()", Layer: chaos.LayerSQL, Class: chaos.ClassCrash},
	FailArgs: func(chaos.Call, catalog.None, any) (note string, err error) {
		return "database/sql tries the call again, unless it reads rows, or a transaction or a sql.Conn holds the connection",
			driver.ErrBadConn
	},
}

// Serialization fails a statement or a commit with [ErrSerialization]. The transaction can only be rolled back then.
func Serialization() chaos.Fault { return serialization.Of(catalog.None{}) }

var serialization = &catalog.Fail[catalog.None]{
	Row: catalog.Row{Kind: "serialization_failure", Doc: "The transaction collides with another one.",
		Go: "chaossql.Serialization()", Layer: chaos.LayerSQL, Class: chaos.ClassCrash},
	FailArgs: failsWith(ErrSerialization),
}

// Deadlock fails a statement or a commit with [ErrDeadlock]. The transaction can only be rolled back then.
func Deadlock() chaos.Fault { return deadlock.Of(catalog.None{}) }

var deadlock = &catalog.Fail[catalog.None]{
	Row: catalog.Row{Kind: "deadlock", Doc: "The transaction is given up, since it and another one wait for each other.",
		Go: "chaossql.Deadlock()", Layer: chaos.LayerSQL, Class: chaos.ClassCrash},
	FailArgs: failsWith(ErrDeadlock),
}

func failsWith(err error) func(chaos.Call, catalog.None, any) (string, error) {
	return func(c chaos.Call, _ catalog.None, args any) (note string, _ error) {
		s, ok := args.(*Statement)
		switch {
		case !ok || s == nil: // a point of another package
			return "", err
		case s.op == executing, s.op == querying, s.op == committing:
			return "", s.conn.connector.ownError(err)
		}
		return fmt.Sprintf("a statement or a commit meets this error, not %s", c.Target), nil
	}
}

// ConnectionLimit refuses a connection beyond limit open ones with [ErrTooManyConnections], at the point connect. Those
// that were opened without an injector count too. limit is at least 0.
func ConnectionLimit(limit int) chaos.Fault { return connectionLimit.Of(connections{limit}) }

type connections struct {
	Limit int `json:"limit" bounds:"min=0" doc:"how many connections may be open"`
}

var connectionLimit = &catalog.Fail[connections]{
	Row: catalog.Row{Kind: "connection_limit", Doc: "The database takes no more connections.", Example: `{"limit":2}`,
		Go: "chaossql.ConnectionLimit(limit)", Order: catalog.Deliveries, Layer: chaos.LayerSQL, Class: chaos.ClassCrash},
	FailArgs: func(c chaos.Call, p connections, args any) (string, error) {
		s, ok := args.(*Statement)
		switch {
		case !ok || s == nil || s.op != connecting:
			return fmt.Sprintf("a connection that is opened meets this limit, not %s", c.Target), nil
		case s.conn.others < int64(p.Limit):
			return "", nil
		}
		return "", s.conn.connector.ownError(ErrTooManyConnections)
	},
}

// Rows are the kinds of this package, for tables; package planjson knows them.
func Rows() []*catalog.Row {
	return catalog.List(badConn, serialization, deadlock, connectionLimit)
}
