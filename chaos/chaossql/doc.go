// Package chaossql makes injection points of the calls of a SQL database.
//
//	connector, err := pq.NewConnector(dsn) // a driver.Connector of any driver; see also Connector
//	db := sql.OpenDB(chaossql.Wrap(connector, nil)) // once, in the program
//
//	plan, err := chaos.NewPlan(42, // in the test
//		chaos.Rule{Target: "sql.commit", When: when.Nth(1), Fault: fault.LoseReply()},
//		chaos.Rule{Target: "sql.query", When: when.Prob(0.1), Fault: chaossql.BadConn()},
//	)
//	rows, err := db.QueryContext(chaos.NewContext(ctx, plan.Injector("my test", nil)), "SELECT …")
//
// A call finds its injector in its context; without one it goes straight to the driver.
//
// # The points
//
//   - sql.connect, sql.ping, sql.begin, sql.commit, sql.rollback: a connection and its transactions;
//   - sql.exec, sql.query: statements, prepared or not. Their arguments are a [*Statement], their key is a hash of the
//     text and the values. An exec gives a [Result];
//   - sql.rows: the rows of one query, a stream whose items are []driver.Value. A cut stream ends with an error, which
//     the program learns from Rows.Err.
//
// [Options].Target takes the place of "sql", so that rules tell databases apart. With [Options].Statement the points of
// statements have a name behind a #, sql.query#find_order; a rule for sql.query covers them all.
//
// Commit, Rollback and the rows of a query have no context. They belong to the call that began the transaction, or
// made the query. To prepare a statement, to reset and to close a connection are no points.
//
// # Faults
//
// All faults of package fault act here, and those of package lies on rows and on [Result]. This package adds
// [BadConn], [Serialization], [Deadlock] and [ConnectionLimit]. Others have a form of their own here:
//
//   - commit done and its reply lost: [fault.LoseReply] at sql.commit;
//   - rows that break off, with Rows.Err: [fault.CutAfter] at sql.rows; without: [fault.EndAfter];
//   - a stale read: [fault.DelayedVisibility]("sql.{exec,commit}*", d, nil) at "sql.{query,exec,commit}*".
//
// What a fault takes from the caller is given back to the driver, as a server does that loses its client: a connection
// and the rows of a query are closed, a transaction is rolled back, as is one whose commit did not reach the driver. A
// request that arrives late, after its caller has given up ([fault.LateResult]), finds its connection in other hands
// and fails.
//
// # What stays as it is
//
// Arguments, types of columns, result sets, prepared statements, and what a driver has or lacks of the optional
// interfaces of package driver; docs/sql.md names the exceptions.
//
// # Virtual time
//
// sql.OpenDB starts a goroutine. Open and close the database in the world of a cell, and choose a driver without
// network, such as SQLite: docs/sql.md says why.
//
// Stability: may change.
package chaossql
