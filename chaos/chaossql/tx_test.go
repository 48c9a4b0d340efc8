package chaossql_test

import (
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// After a deadlock was injected, statements and the commit of the transaction fail, and the next transaction is sound.
func TestAbortedTransaction(t *testing.T) {
	db, d, _, ctx := open(t, nil, chaos.Rule{Target: "sql.exec", When: when.Nth(1), Fault: chaossql.Deadlock()})
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(ctx, "INSERT ?", 1)
	assert.ErrorIs(t, err, chaossql.ErrDeadlock)
	_, err = tx.ExecContext(ctx, "INSERT ?", 2)
	assert.ErrorIs(t, err, chaossql.ErrAborted)
	_, err = tx.QueryContext(ctx, "SELECT")
	assert.ErrorIs(t, err, chaossql.ErrAborted)
	assert.ErrorIs(t, tx.Commit(), chaossql.ErrAborted)
	assert.Zero(t, d.writes())
	assert.NoError(t, refund(ctx, db))
	assert.Equal(t, 1, d.writes())
}

// A fault that panics leaves no transaction open.
func TestPanic(t *testing.T) {
	d := &database{}
	connection, err := chaossql.Wrap(d, &chaossql.Options{Injector: injector(t, nil,
		chaos.Rule{Target: "sql.commit", Fault: fault.Panic("boom")})}).Connect(t.Context())
	require.NoError(t, err)
	tx, err := connection.(driver.ConnBeginTx).BeginTx(t.Context(), driver.TxOptions{})
	require.NoError(t, err)
	assert.Panics(t, func() { tx.Commit() })
	assert.Contains(t, d.notes(), "rollback")
}

// A connection that is lost in a transaction takes the transaction with it: a part of its work is never there alone.
func TestLostConnectionLosesItsTransaction(t *testing.T) {
	for _, lost := range []chaos.Fault{chaossql.BadConn(), fault.LoseReplyWith(driver.ErrBadConn)} {
		db, d, _, ctx := open(t, nil, chaos.Rule{Target: "sql.exec", When: when.Nth(2), Fault: lost})
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, "DEBIT")
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, "CREDIT")
		assert.ErrorIs(t, err, driver.ErrBadConn)
		_, err = tx.QueryContext(ctx, "SELECT")
		assert.ErrorIs(t, err, driver.ErrBadConn)
		assert.ErrorIs(t, tx.Commit(), driver.ErrBadConn)
		assert.Zero(t, d.writes())
		assert.NoError(t, refund(ctx, db), "another connection")
		assert.Equal(t, 2, strings.Count(d.notes(), "connect"))
	}
}

// A transaction that began without an injector is one all the same: a deadlock ends it, and its work is not known to be
// done before the commit.
func TestTransactionThatBeganWithoutAnInjector(t *testing.T) {
	db, d, in, ctx := open(t, nil, chaos.Rule{Target: "sql.exec", When: when.Nth(2), Fault: chaossql.Deadlock()},
		chaos.Rule{Target: "sql.exec", When: when.Nth(1), Fault: fault.LoseReplyAfter(0)})
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.ExecContext(ctx, "A")
	assert.Error(t, err)
	_, err = tx.ExecContext(ctx, "B")
	assert.ErrorIs(t, err, chaossql.ErrDeadlock)
	_, err = tx.ExecContext(ctx, "C")
	assert.ErrorIs(t, err, chaossql.ErrAborted)
	assert.ErrorIs(t, tx.Commit(), chaossql.ErrAborted)
	assert.Zero(t, d.writes())
	assert.Equal(t, chaos.EffectUnknown, in.Events()[0].Effect)
}

// What an aborted transaction refuses did not reach the driver, whatever is injected besides.
func TestAbortedCallsAreNotSent(t *testing.T) {
	db, d, in, ctx := open(t, nil, chaos.Rule{Target: "sql.exec", When: when.Nth(1), Fault: chaossql.Deadlock()},
		chaos.Rule{Target: "sql.exec", When: when.Nth(2), Fault: fault.Duplicate()})
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	for range 2 {
		_, err = tx.ExecContext(ctx, "A")
		assert.Error(t, err)
	}
	require.NoError(t, tx.Rollback())
	assert.NotContains(t, d.notes(), "exec")
	assert.False(t, in.Events()[1].Delivered)
	assert.Equal(t, chaos.EffectNone, in.Events()[1].Effect)
}

// A transaction ends once. Whoever asks again gets the answer that it has, and no fault was delivered.
func TestATransactionEndsOnce(t *testing.T) {
	for _, twice := range []chaos.Fault{fault.Duplicate(), fault.DeliverTwice()} {
		for _, target := range []string{"sql.commit", "sql.rollback", "sql.begin"} {
			db, d, in, ctx := open(t, nil, chaos.Rule{Target: target, Fault: twice})
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(ctx, "A")
			require.NoError(t, err)
			if target == "sql.rollback" {
				assert.NoError(t, tx.Rollback())
			} else {
				assert.NoError(t, tx.Commit())
				assert.Equal(t, 1, d.writes())
			}
			e := in.Events()[0]
			assert.Equal(t, []any{false, chaos.OutcomeOK, target}, []any{e.Delivered, e.Outcome, e.Target}, "%+v", e)
			assert.Contains(t, e.Note, "the call was not executed again: sql: ")
		}
	}
}

// No connection and no transaction is handed out twice.
func TestWordsAlone(t *testing.T) {
	db, d, _, ctx := open(t, nil, chaos.Rule{Target: "sql.connect", Fault: fault.SilentNoOp()})
	one, err := db.Conn(ctx)
	require.NoError(t, err, "the first shows how a success looks")
	_, err = db.Conn(ctx)
	assert.EqualError(t, err, "the driver gave no connection")
	require.NoError(t, one.Close())
	assert.Equal(t, 1, strings.Count(d.notes(), "connect"))

	db, d, _, ctx = open(t, nil, chaos.Rule{Target: "sql.begin", Fault: fault.SilentNoOp()})
	first, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = first.ExecContext(ctx, "A")
	require.NoError(t, err)
	second, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	require.NoError(t, second.Commit())
	assert.Zero(t, d.writes(), "the work of another transaction")
	require.NoError(t, first.Rollback())
}
