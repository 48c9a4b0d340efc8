package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"
)

// An agent pays order 1042 back, and tries again when the database fails.
type agent struct {
	db      *sql.DB
	careful bool // each refund has a key, which the table has once
}

func (a agent) ask(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
	for attempt := range 4 {
		key := sql.NullString{String: "1042", Valid: a.careful}
		if err := a.refund(ctx, key); err == nil {
			return "Order 1042 was refunded.", nil
		}
		time.Sleep(time.Second << attempt)
	}
	return "I do not know whether order 1042 was refunded.", nil
}

func (a agent) refund(ctx context.Context, key sql.NullString) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var cents int
	if err := tx.QueryRowContext(ctx, "SELECT cents FROM orders WHERE id = 1042").Scan(&cents); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO refunds (key, cents) VALUES ($1, $2) ON CONFLICT DO NOTHING", key, cents); err != nil {
		return err
	}
	return tx.Commit()
}

const schema = `CREATE TABLE orders (id INTEGER PRIMARY KEY, cents INTEGER);
	CREATE TABLE refunds (key TEXT UNIQUE, cents INTEGER);
	INSERT INTO orders VALUES (1042, 12950)`

// newWorlds makes a database of its own for each cell. Open it in the world and close it there: sql.OpenDB starts a
// goroutine, which belongs to the cell's virtual time.
func newWorlds(t *testing.T, careful bool) func(context.Context) (*contract.World, error) {
	dir, worlds := t.TempDir(), atomic.Int64{}
	return func(ctx context.Context) (*contract.World, error) {
		connector, err := chaossql.Connector(&sqlite.Driver{}, filepath.Join(dir, fmt.Sprint(worlds.Add(1))))
		if err != nil {
			return nil, err
		}
		db := sql.OpenDB(chaossql.Wrap(connector, nil))
		if _, err := db.ExecContext(ctx, schema); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return &contract.World{Agent: agent{db, careful}.ask, Close: db.Close, State: func(ctx context.Context) (any, error) {
			return refunds(ctx, db)
		}}, nil
	}
}

// refunds lists the cents that were paid back.
func refunds(ctx context.Context, db *sql.DB) (list []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT cents FROM refunds")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var cents string
		if err := rows.Scan(&cents); err != nil {
			return nil, err
		}
		list = append(list, cents)
	}
	return list, rows.Err()
}

func matrix(newWorld func(context.Context) (*contract.World, error)) *contract.Matrix {
	once := func(name, target string, f chaos.Fault) contract.Scenario {
		return contract.Scenario{Name: name, Rules: []chaos.Rule{{Target: target, When: when.Nth(1), Fault: f}}}
	}
	return &contract.Matrix{
		NewWorld: newWorld,
		Points:   []string{"sql.connect", "sql.begin", "sql.query", "sql.rows", "sql.exec", "sql.commit", "sql.rollback"},
		Prompts:  []string{"Refund order 1042."},
		Invariants: []contract.Invariant{
			invariant.ExactlyOnce("one-refund", contract.Critical, func(s []string) []string { return s }, "12950"),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			once("commit-reply-lost", "sql.commit", fault.LoseReply()),
			once("commit-down", "sql.commit", fault.Fail(fault.ErrUnavailable)),
			once("collision", "sql.commit", chaossql.Serialization()),
			once("deadlock", "sql.exec", chaossql.Deadlock()),
			once("connection-lost", "sql.query", chaossql.BadConn()),
			once("query-hangs", "sql.query", fault.Hang()),
			once("rows-cut", "sql.rows", fault.CutAfter(0)),
		},
	}
}

func TestCarefulAgent(t *testing.T) {
	contracttest.Run(t, matrix(newWorlds(t, true)), nil)
}

// An agent without keys refunds twice exactly where the work was done and its reply was lost.
func TestAnAgentWithoutKeysRefundsTwice(t *testing.T) {
	m := matrix(newWorlds(t, false))
	var report *contract.Report
	synctest.Test(t, func(t *testing.T) { // contracttest would fail this test
		var err error
		report, err = m.Run(t.Context(), nil)
		require.NoError(t, err)
	})
	broken := map[string]bool{}
	for _, c := range report.Cells {
		if c.State == contract.Broken {
			broken[c.Cell.Scenario] = true
		}
	}
	assert.Equal(t, []string{"commit-reply-lost"}, slices.Sorted(maps.Keys(broken)))
}
