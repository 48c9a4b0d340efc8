// Package judge makes judges of prose for package contract/invariant, measures how often
// they are wrong, and corrects the rates of a report by that.
//
// A judge decides one sentence about one answer: "The answer promises no date." It is a
// last resort: state, structure and rules are cheaper, and wrong less often.
//
//	j, err := judge.Chat(ask, &judge.ChatOptions{Name: "small-model", Version: "2026-05-01"})
//	…
//	Invariants: []contract.Invariant{
//		invariant.Judged("no-promise", contract.High, "The answer promises no date.", j),
//		invariant.WithJudge(invariant.Refuses("refuses", contract.High, probes), j),
//	}
//	…
//	report, err := matrix.Run(ctx, nil)
//	known, err := judge.Load("testdata/no-promise.judge.json") // of Calibrate
//	err = judge.Correct(report, known) // under contracttest: in Options.Finish
//
// # Judges
//
// [Chat] asks a model. The answer is data within a fence, the reply has a fixed form, and
// a model that contradicts itself is unsure. Over a cassette (contract/cassette) an unchanged
// question is asked once, and in replay nothing is asked that is not on the tape: that is an error
// of ask, and leaves the cell undecided.
//
// A question costs [ChatOptions.Times] calls of the model, and up to two more for each of them whose reply
// has another form than asked for. All judges are safe for concurrent use if ask is.
//
// # Errors of a judge
//
// [Calibrate] finds out how many of the broken answers a judge finds and how many of the good ones it spares;
// [Attack] tries to talk it round. The result is a file beside the tests. [Correct] puts it into a report.
//
// Stability: may change.
package judge
