package chaossql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
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
	"github.com/shakedown-go/shakedown/chaos/when"
)

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
