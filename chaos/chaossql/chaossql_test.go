package chaossql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func TestRows(t *testing.T) { catalogtest.Run(t, chaossql.Rows()) }

// everything uses a database in all the ways that database/sql has, and tells what it got.
func everything(ctx context.Context, db *sql.DB) string {
	var b strings.Builder
	say := func(what string, err error, got ...any) { fmt.Fprintln(&b, what, got, err) }
	say("ping", db.PingContext(ctx))
	for _, args := range [][]any{nil, {7}, {7, "x"}, {point{1, 2}}, {sql.Named("n", 5)}, {[]byte("raw")}, {time.Unix(1, 0).UTC()}} {
		query := "WRITE" + strings.Repeat(" ?", len(args))
		r, err := db.ExecContext(ctx, query, args...)
		if err == nil {
			id, noID := r.LastInsertId()
			n, noN := r.RowsAffected()
			say("result", noID, id, n, noN)
		}
		say(query, err)
		rows, err := db.QueryContext(ctx, strings.Replace(query, "WRITE", "MANY", 1), args...)
		say("query", err)
		if err != nil {
			continue
		}
		types, err := rows.ColumnTypes()
		for _, c := range types {
			length, hasLength := c.Length()
			nullable, known := c.Nullable()
			precision, scale, decimal := c.DecimalSize()
			say("column", err, c.Name(), c.DatabaseTypeName(), c.ScanType(), length, hasLength, nullable, known, precision, scale, decimal)
		}
		for set := 0; set < 3; set++ {
			for rows.Next() {
				var n int
				say("row", rows.Scan(&n), n)
			}
			if !rows.NextResultSet() {
				break
			}
		}
		say("end", errors.Join(rows.Err(), rows.Close()))
	}
	s, err := db.PrepareContext(ctx, "WRITE ?")
	say("prepare", err)
	_, err = s.ExecContext(ctx, 3)
	say("prepared", err)
	_, err = s.ExecContext(ctx)
	say("too few", err)
	say("close", s.Close())
	for _, o := range []*sql.TxOptions{nil, {ReadOnly: true}, {Isolation: sql.LevelSerializable}} {
		tx, err := db.BeginTx(ctx, o)
		say("begin", err)
		if err != nil {
			continue
		}
		_, err = tx.ExecContext(ctx, "WRITE")
		say("in it", err)
		say("commit", tx.Commit())
		say("after it", tx.Rollback())
	}
	tx, err := db.BeginTx(ctx, nil)
	say("begin", err)
	var n int
	say("count", tx.QueryRowContext(ctx, "SELECT").Scan(&n), n)
	say("rollback", tx.Rollback())
	c, err := db.Conn(ctx)
	say("conn", err)
	say("raw", c.Raw(func(own any) error {
		say("type", nil, fmt.Sprintf("%T", chaossql.Unwrap(own)))
		return nil
	}))
	say("release", c.Close())
	say("driver", nil, fmt.Sprintf("%T", db.Driver()))
	return b.String()
}

// A program sees the same, and the driver is asked the same, with the wrapper and without: inert, with rules for other
// places, with rules that never match, and recorded. The oracle is the driver alone.
func TestNothingChanges(t *testing.T) {
	for _, is := range []struct{ small, skip bool }{{}, {small: true}, {skip: true}} {
		bare := &database{small: is.small, skip: is.skip}
		db := sql.OpenDB(bare)
		want := everything(t.Context(), db)
		require.NoError(t, db.Close())
		for name, rules := range map[string][]chaos.Rule{
			"inert":            nil,
			"elsewhere":        {{Target: "tools.*", Fault: fault.Hang()}},
			"never":            {{Target: "sql.*", When: when.Prob(0), Fault: fault.Hang()}},
			"never, by number": {{Target: "sql.*", When: when.Nth(1000), Fault: fault.Hang()}},
		} {
			t.Run(fmt.Sprintf("%s, small %v, skip %v", name, is.small, is.skip), func(t *testing.T) {
				own := &database{small: is.small, skip: is.skip}
				db := sql.OpenDB(chaossql.Wrap(own, nil))
				ctx := t.Context()
				if rules != nil {
					ctx = chaos.NewContext(ctx, injector(t, &chaos.InjectorOptions{RecordAll: true, KeepValues: true}, rules...))
				}
				assert.Equal(t, strings.Split(want, "\n"), strings.Split(everything(ctx, db), "\n"))
				require.NoError(t, db.Close())
				assert.Equal(t, strings.Split(bare.notes(), "; "), strings.Split(own.notes(), "; "))
				assert.True(t, own.closed)
			})
		}
	}
}

func injector(t testing.TB, o *chaos.InjectorOptions, rules ...chaos.Rule) *chaos.Injector {
	t.Helper()
	p, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	return p.Injector("cell", o)
}

// refund pays an order back in a transaction, as a careful program does.
func refund(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT ?", "A1"); err != nil {
		return err
	}
	return tx.Commit()
}

func count(ctx context.Context, db *sql.DB) error {
	n := -1
	err := db.QueryRowContext(ctx, "SELECT").Scan(&n)
	return errors.Join(err, fmt.Errorf("read %d", n))
}

func insert(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "INSERT ?", "A1")
	return err
}

// Each fault against a database that notes what reached it: what the program got, what was written, whether the fault
// counts as delivered, and what the call is known to have done.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		why    string
		rule   chaos.Rule
		do     func(context.Context, *sql.DB) error
		err    string // a part of what the program got; empty: no error
		writes int
		effect chaos.Effect // of the delivered call
		calls  int          // delivered
	}{
		{"refused: the statement is not executed", chaos.Rule{Target: "sql.exec", Fault: fault.Fail(fault.ErrUnavailable)}, insert,
			"service unavailable", 0, chaos.EffectNone, 1},
		{"lost reply: it is", chaos.Rule{Target: "sql.exec", Fault: fault.LoseReply()}, insert, "", 1, chaos.EffectDone, 1},
		{"executed twice", chaos.Rule{Target: "sql.exec", Fault: fault.Duplicate()}, insert, "", 2, chaos.EffectDone, 1},
		{"done in word alone, after one that shows how a success looks", chaos.Rule{Target: "sql.exec", Fault: fault.SilentNoOp()},
			func(ctx context.Context, db *sql.DB) error { return errors.Join(insert(ctx, db), insert(ctx, db)) }, "", 1, chaos.EffectNone, 1},
		{"a lost connection: database/sql tries again by itself", chaos.Rule{Target: "sql.exec", When: when.Nth(1), Fault: chaossql.BadConn()},
			insert, "", 1, chaos.EffectNone, 1},
		{"lost each time: it gives up", chaos.Rule{Target: "sql.exec", Fault: chaossql.BadConn()}, insert, "driver: bad connection", 0,
			chaos.EffectNone, 3},
		{"done, and a lost connection: database/sql does it twice", chaos.Rule{Target: "sql.exec", When: when.Nth(1),
			Fault: fault.LoseReplyWith(driver.ErrBadConn)}, insert, "", 2, chaos.EffectDone, 1},
		{"a commit whose reply is lost was done", chaos.Rule{Target: "sql.commit", Fault: fault.LoseReplyAfter(0)}, refund, "i/o timeout", 1,
			chaos.EffectDone, 1},
		{"a commit that does not arrive is rolled back", chaos.Rule{Target: "sql.commit", Fault: fault.Fail(fault.ErrUnavailable)}, refund,
			"service unavailable", 0, chaos.EffectNone, 1},
		{"a commit in word alone is rolled back too", chaos.Rule{Target: "sql.commit", Fault: fault.SilentNoOpWith(nil)}, refund, "", 0,
			chaos.EffectNone, 1},
		{"a commit is not executed twice", chaos.Rule{Target: "sql.commit", Fault: fault.Duplicate()}, refund, "", 1, chaos.EffectDone, 0},
		{"a deadlock ends the transaction", chaos.Rule{Target: "sql.exec", Fault: chaossql.Deadlock()}, refund, "deadlock detected", 0,
			chaos.EffectNone, 1},
		{"a collision is found by the commit", chaos.Rule{Target: "sql.commit", Fault: chaossql.Serialization()}, refund,
			"could not serialize", 0, chaos.EffectNone, 1},
		{"a transaction whose beginning is not answered is not left open", chaos.Rule{Target: "sql.begin", Fault: fault.LoseReplyAfter(0)},
			func(ctx context.Context, db *sql.DB) error { return errors.Join(refund(ctx, db), insert(ctx, db)) }, "i/o timeout", 1,
			chaos.EffectNone, 1},
		{"no transaction, but the word for it: statements stand alone", chaos.Rule{Target: "sql.begin", Fault: fault.SilentNoOpWith(nil)}, refund, "", 1,
			chaos.EffectNone, 1},
		{"no connection", chaos.Rule{Target: "sql.connect", Fault: fault.Fail(fault.ErrUnavailable)}, insert, "service unavailable", 0,
			chaos.EffectNone, 1},
		{"no connection but the word for it", chaos.Rule{Target: "sql.connect", Fault: fault.SilentNoOpWith(nil)}, insert, "gave no connection", 0,
			chaos.EffectNone, 1},
		{"two connections, of which one is used", chaos.Rule{Target: "sql.connect", Fault: fault.Duplicate()}, insert, "", 1, chaos.EffectNone, 1},
		{"a query whose reply is lost", chaos.Rule{Target: "sql.query", Fault: fault.LoseReplyAfter(0)}, count, "i/o timeout", 0,
			chaos.EffectUnknown, 1},
		{"a query made twice on one connection", chaos.Rule{Target: "sql.query", Fault: fault.Duplicate()}, count, "read 0", 0,
			chaos.EffectUnknown, 1},
		{"no query, but the word for it", chaos.Rule{Target: "sql.query", Fault: fault.SilentNoOpWith(nil)}, count, "no rows", 0, chaos.EffectNone, 1},
		{"rows that break off", chaos.Rule{Target: "sql.rows", Fault: fault.CutAfter(0)}, count, "unexpected EOF", 0, chaos.EffectUnknown, 1},
		{"rows that end too early", chaos.Rule{Target: "sql.rows", Fault: fault.EndAfter(0)}, count, "no rows", 0, chaos.EffectUnknown, 1},
		{"a row with another value", chaos.Rule{Target: "sql.rows", Fault: fault.Replace([]driver.Value{int64(9)})}, count, "read 9", 0,
			chaos.EffectUnknown, 1},
		{"a row with too many values", chaos.Rule{Target: "sql.rows", Fault: fault.Replace([]driver.Value{1, 2})}, count,
			"a fault made a row of 2 values; allowed: 1", 0, chaos.EffectUnknown, 1},
		{"a ping", chaos.Rule{Target: "sql.ping", Fault: fault.Fail(fault.ErrUnavailable)},
			func(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) }, "service unavailable", 0, chaos.EffectNone, 1},
		{"another number of rows affected", chaos.Rule{Target: "sql.exec", Fault: fault.Replace(json.RawMessage(`{"rowsAffected":0}`))},
			func(ctx context.Context, db *sql.DB) error {
				r, err := db.ExecContext(ctx, "UPDATE")
				if err != nil {
					return err
				}
				n, err := r.RowsAffected()
				return errors.Join(err, fmt.Errorf("%d affected", n))
			}, "0 affected", 1, chaos.EffectDone, 1},
		{"rows that are replaced as a whole: refused, and not delivered", chaos.Rule{Target: "sql.query",
			Fault: fault.Replace(json.RawMessage(`[[9]]`))}, count, "read 0", 0, chaos.EffectUnknown, 0},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &database{}
				in := injector(t, &chaos.InjectorOptions{KeepValues: true}, c.rule)
				db := sql.OpenDB(chaossql.Wrap(d, nil))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := c.do(chaos.NewContext(ctx, in), db)
				if c.err == "" && !strings.Contains(c.why, "lost reply") {
					assert.NoError(t, err)
				} else {
					assert.ErrorContains(t, err, c.err)
				}
				assert.Equal(t, c.writes, d.writes(), d.notes())
				delivered := 0
				for _, e := range in.Events() {
					if e.Delivered {
						delivered++
						assert.Equal(t, c.effect, e.Effect)
						assert.Equal(t, c.rule.Target, e.Target)
					}
				}
				assert.Equal(t, c.calls, delivered, "%+v", in.Events())
				require.NoError(t, db.Close())
				assert.Equal(t, strings.Count(d.notes(), "connect"), strings.Count(d.notes()+";", "close;"), "all connections are closed: %s", d.notes())
				assert.Equal(t, strings.Count(d.notes(), "query"), strings.Count(d.notes(), "close rows"), "all queries are: %s", d.notes())
				assert.Equal(t, strings.Count(d.notes(), "begin"), strings.Count(d.notes(), "commit")+strings.Count(d.notes(), "rollback"),
					"all transactions have ended: %s", d.notes())
			})
		})
	}
}

// open is a database in front of which rules stand.
func open(t *testing.T, o *chaossql.Options, rules ...chaos.Rule) (*sql.DB, *database, *chaos.Injector, context.Context) {
	t.Helper()
	d := &database{}
	in := injector(t, nil, rules...)
	db := sql.OpenDB(chaossql.Wrap(d, o))
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db, d, in, chaos.NewContext(t.Context(), in)
}

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

type driverError struct{ code string }

func (e *driverError) Error() string { return "SQLSTATE " + e.code }

// The caller gets the error that the driver would make, and it matches the portable one, also for the transaction's sake.
func TestOwnErrors(t *testing.T) {
	db, _, _, ctx := open(t, &chaossql.Options{Error: func(err error) error {
		if errors.Is(err, chaossql.ErrSerialization) {
			return &driverError{"40001"}
		}
		return nil
	}}, chaos.Rule{Target: "sql.exec", When: when.Nth(1), Fault: chaossql.Serialization()},
		chaos.Rule{Target: "sql.exec", When: when.Nth(2), Fault: chaossql.Deadlock()})
	err := insert(ctx, db)
	assert.EqualError(t, err, "SQLSTATE 40001")
	var own *driverError
	assert.ErrorAs(t, err, &own)
	assert.ErrorIs(t, err, chaossql.ErrSerialization)
	assert.ErrorIs(t, err, chaos.ErrInjected)
	assert.EqualError(t, insert(ctx, db), "deadlock detected", "an error that the hook does not know")
}

// A statement has a name of its own, and rules for all statements cover it.
func TestNamedStatements(t *testing.T) {
	name := func(query string) string { return strings.ToLower(strings.Fields(query)[0]) }
	db, d, in, ctx := open(t, &chaossql.Options{Target: "orders.db", Statement: name},
		chaos.Rule{Target: "orders.db.exec#insert", When: when.Nth(1), Fault: fault.Fail(fault.ErrUnavailable)},
		chaos.Rule{Target: "orders.db.query", When: when.Nth(2), Fault: fault.Fail(fault.ErrUnavailable)},
		chaos.Rule{Target: "orders.db.rows", When: when.Nth(1), Fault: fault.EndAfter(0)})
	assert.ErrorIs(t, insert(ctx, db), fault.ErrUnavailable)
	_, err := db.ExecContext(ctx, "UPDATE")
	assert.NoError(t, err, "another statement")
	assert.ErrorIs(t, count(ctx, db), sql.ErrNoRows)
	assert.ErrorIs(t, count(ctx, db), fault.ErrUnavailable)
	var targets []string
	for _, e := range in.Events() {
		targets = append(targets, e.Target)
	}
	assert.Equal(t, []string{"orders.db.exec#insert", "orders.db.rows#select", "orders.db.query#select"}, targets)
	assert.Equal(t, 1, d.writes())
}

// Equal texts and values have equal keys, so that the second of two equal calls is told from another call.
func TestKeys(t *testing.T) {
	db, _, _, ctx := open(t, nil, chaos.Rule{Target: "sql.exec", When: again{}, Fault: fault.Fail(fault.ErrUnavailable)})
	at := time.Unix(5, 0)
	for _, args := range [][]any{{1}, {2}, {1.0}, {"1"}, {[]byte("1")}, {true}, {nil}, {at}, {sql.Named("a", 1)}, {1, 2}, {2, 1}} {
		_, err := db.ExecContext(ctx, "INSERT ? ?", args...)
		assert.NoError(t, err, "the first with %v", args)
	}
	_, err := db.ExecContext(ctx, "INSERT ? ?", at.In(time.FixedZone("east", 3600)))
	assert.ErrorIs(t, err, fault.ErrUnavailable, "the same time")
}

// again matches the second of equal calls.
type again struct{}

func (again) Match(c chaos.Call) bool { return c.Occurrence == 1 }

// Triggers see text and values, as a Go value and as JSON.
func TestArguments(t *testing.T) {
	large := when.Args("amount over 100", func(s *chaossql.Statement) bool { return s.Args[0].Value.(int64) > 100 })
	db, _, in, ctx := open(t, nil, chaos.Rule{Target: "sql.exec", When: large, Fault: fault.LoseReplyAfter(0)})
	for _, amount := range []int{1, 1000} {
		_, err := db.ExecContext(ctx, "INSERT ?", amount)
		assert.Equal(t, amount > 100, err != nil)
	}
	assert.Len(t, in.Events(), 1)
	doc, err := json.Marshal(&chaossql.Statement{Query: "INSERT ? ?", Args: []driver.NamedValue{{Value: int64(1)}, {Name: "n", Value: "x"}}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"query":"INSERT ? ?","args":[1,{"name":"n","value":"x"}]}`, string(doc))
}

// The limit counts connections that are open, and lets a new one in when one was closed.
func TestConnectionLimit(t *testing.T) {
	db, _, in, ctx := open(t, nil, chaos.Rule{Target: "sql.connect", Fault: chaossql.ConnectionLimit(2)},
		chaos.Rule{Target: "sql.ping", Fault: chaossql.ConnectionLimit(0)})
	db.SetMaxIdleConns(0)
	one, err := db.Conn(ctx)
	require.NoError(t, err)
	two, err := db.Conn(ctx)
	require.NoError(t, err)
	assert.NoError(t, two.PingContext(ctx), "a point where nothing is opened")
	_, err = db.Conn(ctx)
	assert.ErrorIs(t, err, chaossql.ErrTooManyConnections)
	require.NoError(t, one.Close())
	three, err := db.Conn(ctx)
	require.NoError(t, err)
	require.NoError(t, errors.Join(two.Close(), three.Close()))
	events := in.Events()
	assert.Equal(t, []bool{false, false, false, true, false}, []bool{events[0].Delivered, events[1].Delivered, events[2].Delivered,
		events[3].Delivered, events[4].Delivered})
}

// A request that comes after its caller gave up finds its connection in other hands, and does not touch it.
func TestLateRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, d, _, ctx := open(t, nil, chaos.Rule{Target: "sql.{exec,query}", Fault: fault.LateResult("sql.exec", time.Second, 5*time.Second)})
		assert.ErrorContains(t, insert(ctx, db), "timeout")
		time.Sleep(time.Minute)
		assert.EqualError(t, count(ctx, db), "read 0")
		assert.Zero(t, d.writes())
	})
}

// A wait ends with the context of the call, for a commit and for rows with that of the call that began them.
func TestWaitsEnd(t *testing.T) {
	for target, do := range map[string]func(context.Context, *sql.DB) error{
		"sql.connect": insert, "sql.exec": insert, "sql.query": count, "sql.rows": count, "sql.commit": refund, "sql.begin": refund,
	} {
		t.Run(target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, d, in, ctx := open(t, nil, chaos.Rule{Target: target, Fault: fault.Hang()})
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				began := time.Now()
				assert.Error(t, do(ctx, db))
				assert.Equal(t, time.Minute, time.Since(began))
				assert.True(t, in.Events()[0].Delivered)
				assert.Zero(t, d.writes())
			})
		})
	}
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

// No connection and no transaction is handed out twice.
func TestWordsAlone(t *testing.T) {
	db, d, _, ctx := open(t, nil, chaos.Rule{Target: "sql.connect", Fault: fault.SilentNoOp()})
	one, err := db.Conn(ctx)
	require.NoError(t, err, "the first shows how a success looks")
	_, err = db.Conn(ctx)
	assert.EqualError(t, err, "chaossql: a fault gave no connection")
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

// The limit holds however many connect at once.
func TestConnectionLimitUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{slow: time.Second}
		db := sql.OpenDB(chaossql.Wrap(d, nil))
		ctx := chaos.NewContext(t.Context(), injector(t, nil, chaos.Rule{Target: "sql.connect", Fault: chaossql.ConnectionLimit(2)}))
		var mu sync.Mutex
		var open []*sql.Conn
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if c, err := db.Conn(ctx); err == nil {
					mu.Lock()
					defer mu.Unlock()
					open = append(open, c)
				} else {
					assert.ErrorIs(t, err, chaossql.ErrTooManyConnections)
				}
			})
		}
		wg.Wait()
		assert.Len(t, open, 2)
		for _, c := range open {
			require.NoError(t, c.Close())
		}
		require.NoError(t, db.Close())
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

// Faults that change arguments reach the driver, prepared or not, and with a driver that prepares all.
func TestChangedArguments(t *testing.T) {
	for _, small := range []bool{false, true} {
		d := &database{small: small}
		db := sql.OpenDB(chaossql.Wrap(d, nil))
		in := injector(t, nil, chaos.Rule{Target: "sql.exec", Fault: fault.CorruptHandoff(json.RawMessage(`{"args":[5]}`))})
		ctx := chaos.NewContext(t.Context(), in)
		_, err := db.ExecContext(ctx, "INSERT ?", 3)
		require.NoError(t, err)
		s, err := db.PrepareContext(ctx, "UPDATE ?")
		require.NoError(t, err)
		_, err = s.ExecContext(ctx, 4)
		require.NoError(t, err)
		require.NoError(t, errors.Join(s.Close(), db.Close()))
		assert.Regexp(t, `exec INSERT \? \[5\].*exec UPDATE \? \[5\]`, d.notes())
		for _, e := range in.Events() {
			assert.True(t, e.Delivered)
		}
	}
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
	db, d, _, ctx := open(t, nil, chaos.Rule{Target: "sql.rows", Fault: fault.Repeat(3)})
	assert.EqualError(t, count(ctx, db), "read 0")
	assert.Equal(t, 1, strings.Count(d.notes(), "end of rows"), d.notes())
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

// Values that only their driver knows have keys of their own.
func TestKeysOfOwnTypes(t *testing.T) {
	db, _, _, ctx := open(t, nil, chaos.Rule{Target: "sql.exec", When: again{}, Fault: fault.Fail(fault.ErrUnavailable)})
	for _, v := range []any{point{1, 2}, point{2, 1}} {
		_, err := db.ExecContext(ctx, "INSERT ?", v)
		assert.NoError(t, err)
	}
	_, err := db.ExecContext(ctx, "INSERT ?", point{1, 2})
	assert.ErrorIs(t, err, fault.ErrUnavailable)
}

// A driver without a connector gets one, and one that has its own keeps it.
func TestConnector(t *testing.T) {
	d := &database{}
	c, err := chaossql.Connector(d, "somewhere")
	require.NoError(t, err)
	db := sql.OpenDB(chaossql.Wrap(c, nil))
	assert.NoError(t, insert(t.Context(), db))
	assert.NoError(t, db.Close())
	assert.Equal(t, driver.Driver(d), db.Driver())
	c, err = chaossql.Connector(connecting{d}, "somewhere")
	require.NoError(t, err)
	assert.Same(t, d, c)
	assert.Equal(t, 5, chaossql.Unwrap(5))
}

type connecting struct{ *database }

func (c connecting) OpenConnector(string) (driver.Connector, error) { return c.database, nil }

// Calls that no rule acts on allocate what the driver allocates.
func TestAllocations(t *testing.T) {
	quiet := &quietConn{}
	for name, rules := range map[string][]chaos.Rule{
		"no rule for it":  {{Target: "tools.*", Fault: fault.Hang()}},
		"never by chance": {{Target: "sql.exec", When: when.Prob(0), Fault: fault.Hang()}, {Target: "sql.commit", When: when.Prob(0), Fault: fault.Hang()}},
		"never by number": {{Target: "sql.*", When: when.Nth(1 << 40), Fault: fault.Hang()}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := chaossql.Wrap(quiet, nil).Connect(t.Context())
			require.NoError(t, err)
			ctx := chaos.NewContext(t.Context(), injector(t, nil, rules...))
			args := []driver.NamedValue{{Ordinal: 1, Value: "A1"}}
			assert.Zero(t, testing.AllocsPerRun(100, func() {
				_, _ = c.(driver.ExecerContext).ExecContext(ctx, "INSERT ?", args)
				tx, _ := c.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
				_ = tx.Commit()
			}))
		})
	}
}

// quietConn does nothing, and allocates nothing.
type quietConn struct{ fullConn }

func (c *quietConn) Connect(context.Context) (driver.Conn, error)                 { return c, nil }
func (c *quietConn) Driver() driver.Driver                                        { return nil }
func (c *quietConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c, nil }
func (c *quietConn) Commit() error                                                { return nil }
func (c *quietConn) Rollback() error                                              { return nil }
func (c *quietConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, nil
}

// BenchmarkExec: an exec by the driver alone, behind a wrapper by hand, and behind points on which no rule acts.
func BenchmarkExec(b *testing.B) {
	args := []driver.NamedValue{{Ordinal: 1, Value: "A1"}}
	measure := func(name string, c driver.Connector, rules ...chaos.Rule) {
		b.Run(name, func(b *testing.B) {
			ctx := context.WithValue(context.Background(), handKey{}, func(string) error { return nil })
			if rules != nil {
				ctx = chaos.NewContext(ctx, injector(b, nil, rules...))
			}
			conn, err := c.Connect(ctx)
			require.NoError(b, err)
			exec := conn.(driver.ExecerContext)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := exec.ExecContext(ctx, "INSERT ?", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	measure("bare", &quietConn{})
	measure("by hand", handConnector{&quietConn{}})
	measure("inert", chaossql.Wrap(&quietConn{}, nil))
	measure("no rule for it", chaossql.Wrap(&quietConn{}, nil), chaos.Rule{Target: "tools.*", Fault: fault.Hang()})
	measure("drawn", chaossql.Wrap(&quietConn{}, nil), chaos.Rule{Target: "sql.*", When: when.Prob(0), Fault: fault.Hang()})
}

// handConnector is the wrapper that one would write by hand: it looks for something in the context.
type handConnector struct{ *quietConn }

type handKey struct{}

func (c handConnector) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c handConnector) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if fail, ok := ctx.Value(handKey{}).(func(string) error); ok {
		if err := fail(query); err != nil {
			return nil, err
		}
	}
	return c.quietConn.ExecContext(ctx, query, args)
}
