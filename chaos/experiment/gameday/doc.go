// Package gameday keeps a registry of experiments, runs them by name, and keeps a
// history of the results.
//
//	history, err := gameday.OpenHistory("history.json", 0)
//	lab := gameday.NewLab(&gameday.LabOptions{History: history, Injector: in})
//	err = lab.Register(slowDatabase, lostCache, deadWorker)
//	for _, name := range lab.Names() {
//		result, err := lab.Run(ctx, name, false)
//		…
//	}
//
// A [Lab] runs experiments as experiment.RunSimple does and is safe for concurrent
// use; the caller decides whether two experiments may run at once. [Lab.Status] is
// the output of the tool chaos_status.
//
// # History
//
// A [History] is append-only and bounded: the oldest results are dropped and
// counted. If it is in a file, a result is in the file when Add returns. The file is
// whole or as it was, whenever the process dies; each change writes it anew. One
// process at a time may have it open.
//
// A file also records which runs began. If the process dies during one, its
// rollback has not run. After the next start [History.CutOff] names the run, until
// [History.Settle] removes it.
package gameday
