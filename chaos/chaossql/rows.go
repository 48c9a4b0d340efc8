package chaossql

import (
	"bytes"
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// rows are the rows of a query: those of the driver, or those that were read into memory.
type rows struct {
	driversRows
	of      *conn
	columns []string
	also    io.Closer // the statement that was prepared for the query; nil: there is none
	changed bool      // held are not those of base

	point point           // nothing can happen to them without an injector
	ctx   context.Context // of the query
	call  Statement
	resultSet
}

// driversRows are rows of a driver, with the optional interfaces that it has or lacks.
type driversRows struct {
	base driver.Rows // without{}: there are none, or its connection is needed
	driver.RowsColumnTypeScanType
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsNextResultSet
}

func driversRowsOf(base driver.Rows) driversRows {
	return driversRows{
		base,
		optional[driver.RowsColumnTypeScanType](base),
		optional[driver.RowsColumnTypeDatabaseTypeName](base),
		optional[driver.RowsColumnTypeLength](base),
		optional[driver.RowsColumnTypeNullable](base),
		optional[driver.RowsColumnTypePrecisionScale](base),
		optional[driver.RowsNextResultSet](base),
	}
}

// resultSet is how far a result set was read.
type resultSet struct {
	held *heldRows      // they come before those of base; nil: there are none
	last []driver.Value // the row that was read last

	began bool    // reading did
	x     arrival // the call that reading it is; zero: it has ended
	next  func() ([]driver.Value, error, bool)
	stop  func() // nil: no fault acts on it
}

// heldRows are rows in memory.
type heldRows struct {
	rows [][]driver.Value
	all  bool  // there are no more of this result set
	err  error // by which it ended; nil: well
}

// maxHeld bounds the rows of one answer that a fault keeps for later queries.
const maxHeld = 1000

func (c *conn) rowsOf(base driver.Rows) *rows {
	if own, ok := base.(*rows); ok && own.of == c {
		return own
	}
	return &rows{driversRows: driversRowsOf(base), of: c, columns: base.Columns()}
}

// read makes an injection point of rows, if anything can happen to them.
func (c *conn) read(ctx context.Context, p point, base driver.Rows, call Statement) driver.Rows {
	if p.injector == nil {
		return base
	}
	r := c.rowsOf(base)
	call.op = reading
	r.point, r.ctx, r.call = p, ctx, call
	return r
}

// begin begins to read a result set.
func (r *rows) begin() {
	r.began = true
	if r.x = r.of.arrive(r.ctx, r.point, r.call); r.x.PassesThrough() {
		return
	}
	read := false
	once := func(yield func([]driver.Value, error) bool) {
		if read { // a fault that reads a result set again has nothing executed again
			yield(nil, unsent("sql: the rows of a query are read once"))
			return
		}
		read = true
		r.all(yield)
	}
	all := chaos.WrapStreamWith("", func(context.Context, *Statement) iter.Seq2[[]driver.Value, error] { return once },
		&chaos.WrapOptions[*Statement]{Crossing: &r.x.Crossing, Fit: r.fit})
	r.next, r.stop = iter.Pull2(all(r.ctx, &r.call))
}

// fit refuses what a fault gives in place of a row and has not a value for each column.
func (r *rows) fit(v any) (any, error) {
	row, _ := v.([]driver.Value)
	if doc, ok := v.(json.RawMessage); ok {
		row, _ = jsonvalue.Decode[[]driver.Value](doc)
	}
	if len(row) != len(r.columns) {
		return nil, fmt.Errorf("%T of %d values; allowed: []driver.Value of %d, one for each column", v, len(row), len(r.columns))
	}
	return row, nil
}

// end ends the reading of a result set, by an error or well.
func (r *rows) end(err error) {
	if r.stop != nil {
		r.stop()
	}
	r.x.ended(err)
	r.x = arrival{}
}

// all yields the rows of one result set. Each is a slice of its own, because faults may keep it.
func (r *rows) all(yield func([]driver.Value, error) bool) {
	for {
		row := make([]driver.Value, len(r.columns))
		switch err := r.nextRow(row); {
		case err == io.EOF:
			return
		case err != nil:
			yield(nil, err)
			return
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = slices.Clone(b) // the driver uses its memory again
			}
		}
		if r.last = row; !yield(row, nil) {
			return
		}
	}
}

// nextRow reads the next row without faults.
func (r *rows) nextRow(row []driver.Value) error {
	switch h := r.held; {
	case h != nil && len(h.rows) > 0:
		copy(row, h.rows[0])
		h.rows = h.rows[1:]
		return nil
	case h != nil && h.all:
		return cmp.Or(h.err, io.EOF)
	}
	return r.base.Next(row)
}

// hold reads up to most rows into memory; a negative number: all.
func (r *rows) hold(ctx context.Context, most int) {
	h := &heldRows{}
	for row, err := range r.all {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			h.all, h.err = true, err
			break
		}
		if h.rows = append(h.rows, row); len(h.rows) == most {
			break
		}
	}
	h.all = h.all || len(h.rows) != most
	r.held = h
}

// release reads the rest into memory and frees the connection for another query. Later result sets are lost.
func (r *rows) release(ctx context.Context) {
	r.hold(ctx, -1)
	r.held.err = cmp.Or(r.held.err, r.close())
	r.driversRows, r.also = driversRowsOf(without{}), nil
}

// Keep reads the rows into memory, for faults that give them to a later query; see fault.DelayedVisibility.
func (r *rows) Keep() (again func() (any, string)) {
	r.hold(context.Background(), maxHeld)
	own, why := any(*r.held), ""
	switch {
	case !r.held.all:
		own, why = nil, fmt.Sprintf("a query of %d rows or more was not remembered", maxHeld)
	case r.held.err != nil:
		own, why = nil, "a query that failed was not remembered"
	}
	return func() (any, string) { return own, why }
}

// Become puts the rows of an earlier answer to the query in the place of these, and declares it if they differ.
func (r *rows) Become(ctx context.Context, other any) any {
	old, ok := other.(heldRows)
	if !ok {
		return other // of the wrong type, as the event will say
	}
	if r.of.inTx {
		chaos.Note(ctx, "a transaction sees its own writes")
		return r
	}
	r.hold(ctx, maxHeld)
	switch {
	case r.held.err != nil:
	case !r.held.all:
		chaos.Note(ctx, fmt.Sprintf("a query of %d rows or more was not changed", maxHeld))
	case len(old.rows) > 0 && len(old.rows[0]) != len(r.columns):
		chaos.Note(ctx, "a query that has another number of columns now was not changed")
	case !reflect.DeepEqual(r.held.rows, old.rows):
		was, is := jsonvalue.Document(r.held.rows), jsonvalue.Document(old.rows)
		chaos.Changed(ctx, chaos.Change{Before: was, After: is})
		r.held, r.changed = &old, true
	}
	return r
}

// SameAs reports whether a caller would see the same rows, for package chaos. Whether rows that were changed are the
// same is what their fault declared.
func (r *rows) SameAs(other any) (same, known bool) { return other == any(r), !r.changed }

// MarshalJSON writes the columns alone: to write the rows would read them.
func (r *rows) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"columns": r.columns})
}

// UnmarshalJSON refuses to be replaced by JSON.
func (r *rows) UnmarshalJSON([]byte) error {
	return errors.New("chaossql: the rows of a query are not replaced at its point; replace each at the point of rows")
}

// Next reads the next row.
func (r *rows) Next(dest []driver.Value) error {
	if r.point.injector != nil && !r.began {
		r.begin()
	}
	if r.stop == nil {
		err := r.nextRow(dest)
		if err == io.EOF {
			r.end(nil)
		} else if err != nil {
			r.end(err)
		}
		return err
	}
	switch row, err, more := r.next(); {
	case !more:
		return io.EOF
	case err != nil:
		r.of.noteLoss(err)
		return err
	default:
		r.restore(row)
		copy(dest, row)
		return nil
	}
}

// restore puts the driver's values back into a row that a fault made of JSON, where it did not change them.
func (r *rows) restore(row []driver.Value) {
	for i, v := range row {
		if i >= len(r.last) || &row[i] == &r.last[i] {
			return
		}
		n, isInt := r.last[i].(int64)
		f, isFloat := v.(float64)
		was, _ := json.Marshal(r.last[i]) // bytes as the fault saw them
		is, err := json.Marshal(v)
		if isInt && isFloat && f == float64(n) || err == nil && bytes.Equal(was, is) {
			row[i] = r.last[i]
		}
	}
}

// Columns names the columns.
func (r *rows) Columns() []string { return r.columns }

// Close ends the query.
func (r *rows) Close() error {
	r.end(nil)
	return r.close()
}

func (r *rows) close() error {
	err := r.base.Close()
	if r.also != nil {
		err = errors.Join(err, r.also.Close())
	}
	return err
}

// NextResultSet goes on to it. Its rows are another stream.
func (r *rows) NextResultSet() error {
	r.end(nil)
	if err := r.RowsNextResultSet.NextResultSet(); err != nil {
		return err
	}
	r.columns, r.resultSet = r.base.Columns(), resultSet{}
	return nil
}
