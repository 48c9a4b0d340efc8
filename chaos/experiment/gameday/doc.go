// Package gameday keeps a registry of experiments, runs them by name or as a
// list, and keeps a history of the results.
//
//	history, err := gameday.OpenHistory("history.jsonl", 0)
//	lab := gameday.NewLab(&gameday.LabOptions{History: history, Injector: in})
//	err = lab.Register(slowDatabase, lostCache, deadWorker)
//
//	result, err := lab.Run(ctx, "slow database", false)       // by name
//	report, err := (&gameday.GameDay{Name: "October"}).Run(ctx, lab)
//	err = report.WriteText(os.Stdout)
//
// A [Lab] runs experiments as experiment.RunSimple does and is safe for concurrent
// use; the caller decides whether two experiments may run at once. [Lab.Status] is
// the output of the tool chaos_status.
//
// # History
//
// A [History] is append-only and bounded: the oldest results are dropped and
// counted. If it is in a file, a result is on the disk when Add returns. The file
// survives a crash at any byte: every line has its length and checksum, and an
// incomplete last line is removed when the file is opened. One process at a time
// may have it open.
//
// A file also records which runs began. If the process dies during one, its
// rollback has not run. After the next start [History.CutOff] names the run, until
// [History.Settle] removes it.
package gameday
