// Package fleet spreads the units of one matrix over the processes of several machines. It is for
// long, uneven and costly matrices whose machines reach one address; on one machine a run and its
// file do, and in CI shards do, without a server.
//
// NATS JetStream hands the units out and carries their results; the run file is the truth. One
// process calls [Run], which returns the report of [contract.Matrix.Run], and any number call
// [Work], with the same matrix, the same program and the same [Options.ID]. They may come and go:
// the unit of a process that was killed is run by another after [Options.AckWait].
//
//	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true))
//	if err != nil {
//		return err
//	}
//	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	o := &fleet.Options{ID: "nightly-7", Run: &contract.RunOptions{File: "nightly.run.jsonl"}}
//	if worker {
//		return fleet.Work(ctx, nc, matrix, o)
//	}
//	report, err := fleet.Run(ctx, nc, matrix, o)
//
// The connection, its credentials and its TLS are the caller's. Package
// contract/fleet/embedded has a server for those who run none.
//
// A worker whose context ends gives its units back. A unit whose worker died three times is
// inconclusive in this run's file; a resumed run tries it again. Neither a sequential run nor a
// budget can be spread: which trial is next depends on those before. Limits of a provider, such
// as its rate, are those of all workers together, and stay the caller's.
//
// Stability: may change.
package fleet
