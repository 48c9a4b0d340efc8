package chaossql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A read within the time after a write sees what it saw before; later, and without an earlier read, the truth. An answer
// that is the same either way is not delivered.
func TestStaleRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, _, in, ctx := open(t, nil, chaos.Rule{Target: "sql.{query,exec,commit}*",
			Fault: fault.DelayedVisibility("sql.{exec,commit}*", time.Second, nil)})
		assert.EqualError(t, count(ctx, db), "read 0")
		require.NoError(t, insert(ctx, db))
		assert.EqualError(t, count(ctx, db), "read 0", "stale")
		stale := in.Events()[2]
		assert.True(t, stale.Delivered)
		assert.JSONEq(t, `[[1]]`, string(stale.Changes[0].Before))
		assert.JSONEq(t, `[[0]]`, string(stale.Changes[0].After))
		require.NoError(t, refund(ctx, db))
		assert.EqualError(t, count(ctx, db), "read 0", "stale")
		time.Sleep(2 * time.Second)
		assert.EqualError(t, count(ctx, db), "read 2")
		for _, e := range in.Events() {
			assert.Equal(t, e.Target == "sql.query" && len(e.Changes) > 0, e.Delivered, "%+v", e)
		}
	})
}

// A statement of many rows is neither remembered nor changed, and says so.
func TestStaleReadOfManyRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, _, in, ctx := open(t, nil, chaos.Rule{Target: "sql.{query,exec}",
			Fault: fault.DelayedVisibility("sql.exec", time.Second, nil)})
		read := func() (n int) {
			rows, err := db.QueryContext(ctx, "THOUSANDS")
			require.NoError(t, err)
			for rows.Next() {
				n++
			}
			require.NoError(t, rows.Err())
			return n
		}
		assert.Equal(t, 3000, read())
		require.NoError(t, insert(ctx, db))
		assert.Equal(t, 3000, read())
		assert.Contains(t, in.Events()[2].Note, "a query of 1000 rows or more was not remembered")
		assert.False(t, in.Events()[2].Delivered)
	})
}

// What a lie does not change keeps the driver's type and value.
func TestLiesOnRows(t *testing.T) {
	db, _, in, ctx := open(t, nil, chaos.Rule{Target: "sql.rows", Fault: lies.Scale(2, "$[0]")})
	var n int
	var large int64
	var blob []byte
	var at time.Time
	require.NoError(t, db.QueryRowContext(ctx, "WIDE").Scan(&n, &large, &blob, &at))
	assert.Equal(t, []any{700, int64(9007199254740993), "blob", time.Unix(5, 0).UTC()}, []any{n, large, string(blob), at})
	assert.Len(t, in.Events()[0].Changes, 1)
}

// A wrapped connector can be wrapped again, and the faults of both act.
func TestWrappedTwice(t *testing.T) {
	db := sql.OpenDB(chaossql.Wrap(chaossql.Wrap(&database{}, &chaossql.Options{Target: "inner"}), &chaossql.Options{Target: "outer"}))
	defer db.Close()
	in := injector(t, nil, chaos.Rule{Target: "inner.rows", Fault: fault.CutAfter(0)}, chaos.Rule{Target: "outer.rows", Fault: fault.Delay(time.Nanosecond)})
	assert.ErrorContains(t, count(chaos.NewContext(t.Context(), in), db), "unexpected EOF")
}

// Rows that are read to their end again are not executed again.
func TestRowsAreExecutedOnce(t *testing.T) {
	for _, twice := range []chaos.Fault{fault.Repeat(3), fault.DeliverTwice()} {
		db, d, in, ctx := open(t, nil, chaos.Rule{Target: "sql.rows", Fault: twice})
		assert.EqualError(t, count(ctx, db), "read 0")
		assert.NotContains(t, d.notes(), "end of rows", "the caller has taken one")
		e := in.Events()[0]
		assert.False(t, e.Delivered, "nothing was executed again, and the caller saw nothing of it")
		assert.Equal(t, chaos.OutcomeOK, e.Outcome)
		assert.Contains(t, e.Note, "the call was not executed again: sql: the rows of a query are read once")
	}
}

// An answer that failed is not remembered as what a later query is told.
func TestFailedAnswerIsNotRemembered(t *testing.T) {
	db, _, _, ctx := open(t, nil, chaos.Rule{Target: "sql.{query,exec}", Fault: fault.DelayedVisibility("sql.exec", time.Hour, nil)})
	gone, cancel := context.WithCancel(ctx)
	rows, err := db.QueryContext(gone, "BREAKS")
	require.NoError(t, err)
	for rows.Next() {
	}
	assert.ErrorIs(t, rows.Err(), errBroken)
	cancel()
	require.NoError(t, insert(ctx, db))
	rows, err = db.QueryContext(ctx, "BREAKS")
	require.NoError(t, err)
	assert.True(t, rows.Next())
	require.NoError(t, rows.Close())
}

// A connection that is lost while rows are read: database/sql does not make the query again, as the event says, and a
// transaction is lost with it.
func TestConnectionLostWhileRowsAreRead(t *testing.T) {
	for _, lost := range []chaos.Fault{chaossql.BadConn(), fault.CutAfterWith(0, driver.ErrBadConn)} {
		db, d, in, ctx := open(t, nil, chaos.Rule{Name: "alone", Target: "sql.rows", When: when.Nth(1), Fault: lost},
			chaos.Rule{Name: "in a transaction", Target: "sql.rows", When: when.Nth(2), Fault: chaossql.BadConn()})
		assert.ErrorIs(t, count(ctx, db), driver.ErrBadConn)
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, "DEBIT")
		require.NoError(t, err)
		assert.ErrorIs(t, tx.QueryRowContext(ctx, "SELECT").Scan(new(int)), driver.ErrBadConn)
		assert.ErrorIs(t, tx.Commit(), driver.ErrBadConn)
		assert.Zero(t, d.writes())
		assert.NoError(t, refund(ctx, db))
		assert.Equal(t, []int{3, 2}, []int{strings.Count(d.notes(), "connect"), strings.Count(d.notes(), "query")}, d.notes())
		for _, e := range in.Events() {
			assert.True(t, e.Delivered)
		}
		assert.Contains(t, in.Events()[1].Note, "tries the call again, unless it reads rows")
	}
}

// A row has a value for each column, whatever a fault makes of it: what has not is not delivered, and the program gets
// the driver's row rather than an error that no database has.
func TestRowsThatDoNotFit(t *testing.T) {
	for why, c := range map[string]struct {
		fault chaos.Fault
		note  string
	}{
		"no row":                     {fault.Replace(nil), "<nil> of 0 values; allowed: []driver.Value of 4"},
		"another type":               {fault.Replace("x"), "string of 0 values; allowed: []driver.Value of 4"},
		"too few, as JSON":           {fault.Replace(json.RawMessage(`[7]`)), "of 1 values; allowed: []driver.Value of 4"},
		"no list, as JSON":           {fault.Replace(json.RawMessage(`{}`)), "of 0 values; allowed"},
		"values that a lie cut off":  {lies.CutList(0.5), "of 2 values; allowed: []driver.Value of 4"},
		"a value that a lie removed": {lies.RemoveKey("$[1]"), "of 3 values; allowed: []driver.Value of 4"},
	} {
		t.Run(why, func(t *testing.T) {
			db, _, in, ctx := open(t, nil, chaos.Rule{Target: "sql.rows", Fault: c.fault})
			var n, large int64
			var blob []byte
			var at time.Time
			require.NoError(t, db.QueryRowContext(ctx, "WIDE").Scan(&n, &large, &blob, &at))
			assert.Equal(t, []any{int64(7), int64(9007199254740993), "blob"}, []any{n, large, string(blob)})
			assert.False(t, in.Events()[0].Delivered)
			assert.Contains(t, in.Events()[0].Note, c.note)
		})
	}
}

// An answer of another width than the one that was remembered, as after a change of the schema, is not replaced by it.
func TestStaleReadOfOtherColumns(t *testing.T) {
	db, d, in, ctx := open(t, nil, chaos.Rule{Target: "sql.{query,exec}", Fault: fault.DelayedVisibility("sql.exec", time.Hour, nil)})
	assert.EqualError(t, count(ctx, db), "read 0")
	require.NoError(t, insert(ctx, db))
	d.widened = true
	rows, err := db.QueryContext(ctx, "SELECT")
	require.NoError(t, err)
	assert.True(t, rows.Next())
	require.NoError(t, rows.Close())
	e := in.Events()[2]
	assert.False(t, e.Delivered)
	assert.Contains(t, e.Note, "another number of columns")
}
