package chaossql_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"
)

// database is a driver that notes what it is asked. It knows two queries: "SELECT" gives the number of
// committed writes as its one row, "MANY" five rows. Anything else is a write, of which one row is affected.
type database struct {
	mu        sync.Mutex
	log       []string
	committed int
	skip      bool // statements with values are not executed directly
	small     bool // it has none of the optional interfaces
	closed    bool
	slow      time.Duration // to connect
	widened   bool          // every answer has the columns of "WIDE"
}

var errBroken = errors.New("the answer broke off")

func (d *database) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *database) notes() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.log, "; ")
}

func (d *database) writes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.committed
}

func (d *database) write(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.committed += n
}

func (d *database) Open(string) (driver.Conn, error) { return d.Connect(context.Background()) }
func (d *database) Driver() driver.Driver            { return d }
func (d *database) Close() error                     { d.closed = true; return nil }
func (d *database) Connect(context.Context) (driver.Conn, error) {
	time.Sleep(d.slow)
	d.note("connect")
	if d.small {
		return &smallConn{db: d}, nil
	}
	return &fullConn{smallConn{db: d}}, nil
}

// smallConn has what every driver has.
type smallConn struct {
	db      *database
	tx      *fakeTx
	reading bool // one query at a time
}

func (c *smallConn) Prepare(query string) (driver.Stmt, error) {
	c.db.note("prepare %s", query)
	if c.db.small {
		return &smallStmt{c, query}, nil
	}
	return &fullStmt{smallStmt{c, query}}, nil
}

func (c *smallConn) Close() error { c.db.note("close"); return nil }

func (c *smallConn) Begin() (driver.Tx, error) {
	if c.tx != nil {
		return nil, errors.New("a transaction within a transaction")
	}
	c.db.note("begin")
	c.tx = &fakeTx{c: c}
	return c.tx, nil
}

func (c *smallConn) exec(query string, values ...any) (driver.Result, error) {
	if c.reading {
		return nil, errors.New("the connection is busy")
	}
	c.db.note("exec %s %v", query, values)
	if c.tx != nil {
		c.tx.writes++
	} else {
		c.db.write(1)
	}
	return driver.RowsAffected(1), nil
}

func (c *smallConn) query(query string, values ...any) (driver.Rows, error) {
	if c.reading {
		return nil, errors.New("the connection is busy")
	}
	c.db.note("query %s %v", query, values)
	c.reading = true
	r := &smallRows{c: c, values: []int64{int64(c.db.writes())}}
	switch {
	case query == "WIDE" || c.db.widened:
		r.wide, r.again = true, 1
	case query == "BREAKS":
		r.broken, r.again = true, 1
	}
	if query == "THOUSANDS" {
		r.values, r.again = make([]int64, 3000), 1
	}
	if query == "MANY" {
		r.values = []int64{1, 2, 3, 4, 5}
	}
	if c.db.small {
		return r, nil
	}
	return &fullRows{r}, nil
}

type smallStmt struct {
	c    *smallConn
	text string
}

func (s *smallStmt) Close() error  { s.c.db.note("close %s", s.text); return nil }
func (s *smallStmt) NumInput() int { return strings.Count(s.text, "?") }
func (s *smallStmt) Exec(v []driver.Value) (driver.Result, error) {
	return s.c.exec(s.text, values(v)...)
}
func (s *smallStmt) Query(v []driver.Value) (driver.Rows, error) {
	return s.c.query(s.text, values(v)...)
}

// ColumnConverter is an interface of older drivers, whose values database/sql converts in another way.
func (s *smallStmt) ColumnConverter(int) driver.ValueConverter { return doubling{} }

type doubling struct{}

func (doubling) ConvertValue(v any) (driver.Value, error) {
	switch n := v.(type) {
	case int:
		return int64(2 * n), nil
	case int64:
		return 2 * n, nil
	}
	return driver.DefaultParameterConverter.ConvertValue(v)
}

func values(v []driver.Value) (list []any) {
	for _, one := range v {
		list = append(list, one)
	}
	return list
}

func named(v []driver.NamedValue) (list []any) {
	for _, one := range v {
		list = append(list, one.Name+fmt.Sprint(one.Value))
	}
	return list
}

type fakeTx struct {
	c      *smallConn
	writes int
}

func (t *fakeTx) Commit() error   { return t.end("commit", t.writes) }
func (t *fakeTx) Rollback() error { return t.end("rollback", 0) }
func (t *fakeTx) end(how string, n int) error {
	if t.c.tx != t {
		return errors.New("the transaction has ended")
	}
	t.c.db.note("%s", how)
	t.c.db.write(n)
	t.c.tx = nil
	return nil
}

type smallRows struct {
	c      *smallConn
	values []int64
	again  int  // further result sets
	wide   bool // one row of four columns
	broken bool // it breaks off at the end
}

func (r *smallRows) Columns() []string {
	if r.wide {
		return []string{"n", "large", "blob", "at"}
	}
	return []string{"n"}
}

func (r *smallRows) Close() error {
	r.c.db.note("close rows")
	r.c.reading = false
	return nil
}

func (r *smallRows) Next(dest []driver.Value) error {
	switch {
	case len(r.values) == 0 && r.broken:
		return errBroken
	case len(r.values) == 0:
		r.c.db.note("end of rows")
		return io.EOF
	case r.wide:
		r.values = nil
		dest[0], dest[1], dest[2], dest[3] = int64(7), int64(9007199254740993), []byte("blob"), time.Unix(5, 0).UTC()
		return nil
	}
	dest[0], r.values = r.values[0], r.values[1:]
	return nil
}

// fullConn has all that a driver may have.
type fullConn struct{ smallConn }

func (c *fullConn) Ping(context.Context) error         { c.db.note("ping"); return nil }
func (c *fullConn) ResetSession(context.Context) error { c.db.note("reset"); return nil }
func (c *fullConn) IsValid() bool                      { c.db.note("valid"); return true }
func (c *fullConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return c.Prepare(query)
}
func (c *fullConn) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.db.note("with %v", o)
	return c.Begin()
}
func (c *fullConn) ExecContext(_ context.Context, query string, v []driver.NamedValue) (driver.Result, error) {
	if c.db.skip && len(v) > 0 {
		return nil, driver.ErrSkip
	}
	return c.exec(query, named(v)...)
}
func (c *fullConn) QueryContext(_ context.Context, query string, v []driver.NamedValue) (driver.Rows, error) {
	if c.db.skip && len(v) > 0 {
		return nil, driver.ErrSkip
	}
	return c.query(query, named(v)...)
}

// CheckNamedValue takes a value that no other driver would.
func (c *fullConn) CheckNamedValue(v *driver.NamedValue) error {
	if p, ok := v.Value.(point); ok {
		v.Value = fmt.Sprintf("point %d %d", p.x, p.y)
		return nil
	}
	return driver.ErrSkip
}

type point struct{ x, y int }

type fullStmt struct{ smallStmt }

func (s *fullStmt) ExecContext(_ context.Context, v []driver.NamedValue) (driver.Result, error) {
	return s.c.exec(s.text, named(v)...)
}
func (s *fullStmt) QueryContext(_ context.Context, v []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(s.text, named(v)...)
}

type fullRows struct{ *smallRows }

func (r *fullRows) HasNextResultSet() bool { return r.again == 0 }
func (r *fullRows) NextResultSet() error {
	if r.again++; r.again > 1 {
		return io.EOF
	}
	r.values = []int64{42}
	return nil
}
func (r *fullRows) ColumnTypeScanType(int) reflect.Type        { return reflect.TypeFor[int64]() }
func (r *fullRows) ColumnTypeDatabaseTypeName(int) string      { return "BIGINT" }
func (r *fullRows) ColumnTypeLength(int) (int64, bool)         { return 8, true }
func (r *fullRows) ColumnTypeNullable(int) (nullable, ok bool) { return false, true }
func (r *fullRows) ColumnTypePrecisionScale(int) (p, s int64, ok bool) {
	return 19, 0, true
}
