package chaossql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
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
		{"a row with too many values: refused, and not delivered", chaos.Rule{Target: "sql.rows", Fault: fault.Replace([]driver.Value{1, 2})},
			count, "read 0", 0, chaos.EffectUnknown, 0},
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

func (again) Match(c chaos.Call) bool { return c.Occurrence == 1 }
