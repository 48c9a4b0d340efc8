package chaossql_test

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

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

func (c *quietConn) Connect(context.Context) (driver.Conn, error) { return c, nil }

func (c *quietConn) Driver() driver.Driver { return nil }

func (c *quietConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c, nil }

func (c *quietConn) Commit() error { return nil }

func (c *quietConn) Rollback() error { return nil }

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
