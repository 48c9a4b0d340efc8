package orderdesk

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// These tests hold what docs/worlds.md says of sql.DB, with a real driver.

// asking is a matrix of four cells, two at a time, whose agent does one thing with the
// database that open gives it.
func asking(open func(ctx context.Context) (*sql.DB, func() error, error), ask func(context.Context, *sql.DB) error) *contract.Matrix {
	return &contract.Matrix{
		NewWorld: func(ctx context.Context) (*contract.World, error) {
			db, release, err := open(ctx)
			if err != nil {
				return nil, err
			}
			return &contract.World{Close: release, Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				return "done", ask(ctx, db)
			}}, nil
		},
		Prompts:    []string{"go"},
		Invariants: []contract.Invariant{{Name: "done", Severity: contract.High, Check: func(context.Context, *contract.Observation) error { return nil }}},
		Scenarios:  []contract.Scenario{contract.Calm()},
		Trials:     4,
	}
}

// own opens a database of a world.
func own(path string) func(context.Context) (*sql.DB, func() error, error) {
	return func(context.Context) (*sql.DB, func() error, error) {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
}

// waits holds the only connection for an hour, while another caller wants it and a
// third gives up after a minute.
func waits(ctx context.Context, db *sql.DB) error {
	db.SetMaxOpenConns(1)
	held, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	time.AfterFunc(time.Hour, func() { held.Close() })
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := db.PingContext(soon); !errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it did not give up")
	}
	var n int
	if err := db.QueryRowContext(ctx, "select 41 + 1").Scan(&n); err != nil || n != 42 {
		return errors.Join(errors.New("no answer"), err)
	}
	if waited := time.Since(start); waited != time.Hour {
		return errors.New("it waited " + waited.String())
	}
	return nil
}

func TestDatabasesInVirtualTime(t *testing.T) {
	for name, path := range map[string]string{"in memory": ":memory:", "in one file, which the cells share": filepath.Join(t.TempDir(), "desk.db")} {
		t.Run(name, func(t *testing.T) {
			contracttest.AssertPassed(t, contracttest.Run(t, asking(own(path), waits), &contracttest.Options{Workers: 2}))
		})
	}
}

// databaseChild is set in the processes that run the tests named TestChild.
const databaseChild = "ORDERDESK_DATABASE_CHILD"

func databaseTest(t *testing.T, test string) (output string, failed bool) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+test+"$", "-test.v", "-test.timeout", "60s")
	cmd.Env = append(os.Environ(), databaseChild+"=1")
	out, err := cmd.CombinedOutput()
	return string(out), err != nil
}

func onlyInDatabaseChild(t *testing.T) {
	if os.Getenv(databaseChild) == "" {
		t.Skip("runs in a child process")
	}
}

func TestChildLeavesADatabaseOpen(t *testing.T) {
	onlyInDatabaseChild(t)
	open := func(ctx context.Context) (*sql.DB, func() error, error) {
		db, _, err := own(":memory:")(ctx)
		return db, nil, err
	}
	for _, c := range contracttest.Run(t, asking(open, waits), &contracttest.Options{Dir: "-"}).Cells {
		t.Logf("the cell is %v: %s", c.State, c.Why)
	}
}

// often asks often enough for two cells to want the one connection at a time.
func often(ctx context.Context, db *sql.DB) error {
	for range 5000 {
		if _, err := db.ExecContext(ctx, "select 1"); err != nil {
			return err
		}
	}
	return nil
}

// outside is a database that is made once, for all worlds.
func outside(t *testing.T) func(context.Context) (*sql.DB, func() error, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	return func(context.Context) (*sql.DB, func() error, error) { return db, nil, nil }
}

func TestSharedDatabaseOneCellAtATime(t *testing.T) {
	contracttest.AssertPassed(t, contracttest.Run(t, asking(outside(t), often), &contracttest.Options{Workers: 1}))
}

// TestChildSharesADatabase: a cell that waits for the connection which another cell
// has waits for nothing that its own bubble knows. So its clock runs away, unless the
// other cell gives the connection back first: database/sql does that over a channel of
// the waiting bubble, and the process ends.
func TestChildSharesADatabase(t *testing.T) {
	onlyInDatabaseChild(t)
	contracttest.Run(t, asking(outside(t), often), &contracttest.Options{Workers: 2, Dir: "-"})
}

func TestWhatADatabaseMayNotDoInVirtualTime(t *testing.T) {
	out, failed := databaseTest(t, "TestChildLeavesADatabaseOpen")
	assert.True(t, failed)
	assert.Regexp(t, `the cell is broken: the agent or its world left goroutines behind: database/sql\.\(\*DB\)\.connectionOpener \(sql\.go:\d+\), select, `+
		`started by database/sql\.OpenDB \(sql\.go:\d+\)`, out)

	out, failed = databaseTest(t, "TestChildSharesADatabase")
	assert.True(t, failed)
	assert.Regexp(t, `the agent hangs: no answer after 720h0m0s of virtual time|`+
		`fatal error: send on synctest channel from outside bubble`, out, "which of the two depends on who is first")
}
