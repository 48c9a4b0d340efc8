//go:build unix

package sql

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// postgres starts a server of PostgreSQL for the test, behind a socket in a folder, and returns how to reach it.
func postgres(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	bin := ""
	if path, err := exec.LookPath("initdb"); err == nil {
		bin = filepath.Dir(path)
	} else if len(found) > 0 {
		bin = slices.Max(found)
	} else {
		t.Skip("no server: PostgreSQL is not installed")
	}
	dir, err := os.MkdirTemp("", "pg") // a short name: the path of a socket has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		if as := serverUser(t, dir); as != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		}
		return cmd
	}
	data := filepath.Join(dir, "data")
	require.NoError(t, run("initdb", "--no-sync", "--auth=trust", "--username=shakedown", "--pgdata", data).Run())
	server := run("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "log_min_messages=fatal")
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	return "host=" + dir + " user=shakedown dbname=postgres"
}

// serverUser is a user other than root, as whom PostgreSQL starts; nil: this one will do.
func serverUser(t *testing.T, dir string) *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	require.NoError(t, err)
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	require.NoError(t, os.Chown(dir, uid, gid))
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// connect opens the database as the program would, and empties it.
func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	db := sql.OpenDB(chaossql.Wrap(stdlib.GetConnector(*config), &chaossql.Options{Error: pgError}))
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	require.Eventually(t, func() bool { return db.Ping() == nil }, time.Minute, 50*time.Millisecond, "the server does not start")
	for statement := range strings.SplitSeq("DROP TABLE IF EXISTS orders, refunds;"+schema, ";") {
		_, err = db.Exec(statement)
		require.NoError(t, err)
	}
	return db
}

// pgError is the error of PostgreSQL for one of package chaossql.
func pgError(err error) error {
	switch {
	case errors.Is(err, chaossql.ErrSerialization):
		return &pgconn.PgError{Severity: "ERROR", Code: "40001", Message: err.Error()}
	case errors.Is(err, chaossql.ErrDeadlock):
		return &pgconn.PgError{Severity: "ERROR", Code: "40P01", Message: err.Error()}
	}
	return nil
}

// What a program on pgx gets of each fault, and what PostgreSQL has done afterwards.
func TestPostgres(t *testing.T) {
	dsn := postgres(t)
	for _, c := range []struct {
		why    string
		target string
		fault  chaos.Fault
		err    string // of one try; empty: none
		wrote  []string
	}{
		{"nothing is injected", "elsewhere", fault.Hang(), "", []string{"12950"}},
		{"the reply of a commit is lost, and it was done", "sql.commit", fault.LoseReplyAfter(0), "i/o timeout", []string{"12950"}},
		{"a commit that does not arrive is rolled back", "sql.commit", fault.Fail(fault.ErrUnavailable), "service unavailable", nil},
		{"a collision, in the words of the driver", "sql.commit", chaossql.Serialization(), "SQLSTATE 40001", nil},
		{"a deadlock", "sql.exec", chaossql.Deadlock(), "SQLSTATE 40P01", nil},
		{"a lost connection: the transaction is not tried again", "sql.exec", chaossql.BadConn(), "bad connection", nil},
		{"a lost connection at the beginning: package sql takes another", "sql.begin", chaossql.BadConn(), "", []string{"12950"}},
		{"the beginning of a transaction is not answered: it is not left open", "sql.begin", fault.LoseReplyAfter(0), "i/o timeout", nil},
		{"an insert executed twice: the key refuses the second", "sql.exec", fault.Duplicate(), "", []string{"12950"}},
		{"a query made twice over one connection", "sql.query", fault.Duplicate(), "", []string{"12950"}},
		{"rows that break off", "sql.rows", fault.CutAfter(0), "unexpected EOF", nil},
		{"a query that hangs until the context ends", "sql.query", fault.Hang(), "deadline exceeded", nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			db := connect(t, dsn)
			plan, err := chaos.NewPlan(1, chaos.Rule{Target: c.target, When: when.Nth(1), Fault: c.fault})
			require.NoError(t, err)
			in := plan.Injector("pgx", nil)
			ctx, cancel := context.WithTimeout(chaos.NewContext(t.Context(), in), time.Minute)
			if c.err == "deadline exceeded" {
				ctx, cancel = context.WithTimeout(ctx, 2*time.Second) // a busy machine comes to the query later
			}
			defer cancel()
			err = agent{db, true}.refund(ctx, sql.NullString{String: "1042", Valid: true})
			if c.err == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.err)
			}
			got, err := refunds(t.Context(), db)
			require.NoError(t, err, "the pool is sound afterwards")
			assert.Equal(t, c.wrote, got)
			assert.Equal(t, c.target != "elsewhere", len(in.Events()) == 1 && in.Events()[0].Delivered, "%+v", in.Events())
		})
	}
}

// Types that only the driver knows pass, also while rules act on the statement and its rows.
func TestPostgresTypes(t *testing.T) {
	db := connect(t, postgres(t))
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "sql.*", When: when.Prob(1), Fault: fault.Delay(time.Millisecond)})
	require.NoError(t, err)
	for name, ctx := range map[string]context.Context{"bare": t.Context(), "slow": chaos.NewContext(t.Context(), plan.Injector("types", nil))} {
		t.Run(name, func(t *testing.T) {
			var list string
			var at time.Time
			var doc []byte
			err := db.QueryRowContext(ctx, "SELECT $1::int[], $2::timestamptz, $3::jsonb", []int{1, 2}, time.Unix(5, 0), []byte(`{"a":1}`)).
				Scan(&list, &at, &doc)
			require.NoError(t, err)
			assert.Equal(t, "{1,2}", list)
			assert.True(t, at.Equal(time.Unix(5, 0)))
			assert.JSONEq(t, `{"a":1}`, string(doc))
			rows, err := db.QueryContext(ctx, "SELECT 1::numeric(5,2) AS price")
			require.NoError(t, err)
			types, err := rows.ColumnTypes()
			require.NoError(t, err)
			assert.Equal(t, "NUMERIC", types[0].DatabaseTypeName())
			precision, scale, ok := types[0].DecimalSize()
			assert.Equal(t, []any{int64(5), int64(2), true}, []any{precision, scale, ok})
			require.NoError(t, rows.Close())
			c, err := db.Conn(ctx)
			require.NoError(t, err)
			require.NoError(t, c.Raw(func(own any) error {
				assert.IsType(t, &stdlib.Conn{}, chaossql.Unwrap(own))
				return nil
			}))
			require.NoError(t, c.Close())
		})
	}
}
