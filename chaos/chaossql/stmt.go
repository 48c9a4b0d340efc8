package chaossql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
)

// stmt is a prepared statement of a connection.
type stmt struct {
	driver.Stmt
	c    *conn
	text string
}

// converting is a statement of a driver that says how its values are converted. database/sql converts them otherwise
// without.
type converting struct {
	*stmt
	by converter
}

// converter is driver.ColumnConverter, which is deprecated: older drivers have it.
type converter interface {
	ColumnConverter(i int) driver.ValueConverter
}

// ColumnConverter is that of the driver.
func (s converting) ColumnConverter(i int) driver.ValueConverter { return s.by.ColumnConverter(i) }

// Prepare prepares a statement without a context.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext prepares a statement.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	if by, ok := s.Stmt.(converter); ok {
		return converting{s, by}, nil
	}
	return s, nil
}

// prepare asks the driver, as database/sql does.
func (c *conn) prepare(ctx context.Context, query string) (*stmt, error) {
	var base driver.Stmt
	var err error
	if p, ok := c.Conn.(driver.ConnPrepareContext); ok {
		base, err = p.PrepareContext(ctx, query)
	} else if base, err = c.Conn.Prepare(query); err == nil && ctx.Err() != nil {
		base.Close()
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &stmt{base, c, query}, nil
}

// prepareFor prepares a statement for values that database/sql has converted for the connection already.
func (c *conn) prepareFor(ctx context.Context, query string, args []driver.NamedValue) (
	*stmt, []driver.NamedValue, error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	if want := s.NumInput(); want >= 0 && want != len(args) {
		err = fmt.Errorf("sql: expected %d arguments, got %d", want, len(args))
	}
	args = slices.Clone(args)
	for i := range args {
		if err == nil {
			err = s.convert(&args[i], i)
		}
	}
	if err != nil {
		s.Close()
	}
	return s, args, err
}

func (s *stmt) convert(v *driver.NamedValue, i int) (err error) {
	if err := optional[driver.NamedValueChecker](s.Stmt).CheckNamedValue(v); err != driver.ErrSkip {
		return err
	}
	if by, ok := s.Stmt.(converter); ok {
		v.Value, err = by.ColumnConverter(i).ConvertValue(v.Value)
	}
	return err
}

// ExecContext executes the statement.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.exec(ctx, s, s.text, args)
}

// QueryContext executes the statement, which gives rows.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(ctx, s, s.text, args)
}

func (s *stmt) execNow(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if base, ok := s.Stmt.(driver.StmtExecContext); ok {
		return base.ExecContext(ctx, args)
	}
	values, err := unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	return s.Stmt.Exec(values) //lint:ignore SA1019 older drivers have it alone
}

func (s *stmt) queryNow(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if base, ok := s.Stmt.(driver.StmtQueryContext); ok {
		return base.QueryContext(ctx, args)
	}
	values, err := unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	return s.Stmt.Query(values) //lint:ignore SA1019 older drivers have it alone
}

// unnamed is what a driver without contexts gets, as database/sql makes it.
func unnamed(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("sql: driver does not support the use of Named Parameters")
		}
		values[i] = a.Value
	}
	return values, ctx.Err()
}

// CheckNamedValue is the check of the statement, or else that of its connection.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return s.c.CheckNamedValue(v)
}
