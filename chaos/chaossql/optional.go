package chaossql

import (
	"context"
	"database/sql/driver"
	"io"
	"reflect"
)

// optional is what a driver has of one of the optional interfaces, or else what database/sql does without.
func optional[I any](ofDriver any) I {
	if has, ok := ofDriver.(I); ok {
		return has
	}
	return any(without{}).(I)
}

// without is a driver that has none of them, and as rows: there are none.
type without struct{}

func (without) Ping(context.Context) error                 { return nil }
func (without) ResetSession(context.Context) error         { return nil }
func (without) IsValid() bool                              { return true }
func (without) CheckNamedValue(*driver.NamedValue) error   { return driver.ErrSkip }
func (without) Columns() []string                          { return nil }
func (without) Next([]driver.Value) error                  { return io.EOF }
func (without) Close() error                               { return nil }
func (without) HasNextResultSet() bool                     { return false }
func (without) NextResultSet() error                       { return io.EOF }
func (without) ColumnTypeScanType(int) reflect.Type        { return reflect.TypeFor[any]() }
func (without) ColumnTypeDatabaseTypeName(int) string      { return "" }
func (without) ColumnTypeLength(int) (n int64, ok bool)    { return 0, false }
func (without) ColumnTypeNullable(int) (nullable, ok bool) { return false, false }
func (without) ColumnTypePrecisionScale(int) (precision, scale int64, ok bool) {
	return 0, 0, false
}
