// Package report shows a [contract.Report] to people and to other programs.
//
// Every function takes a writer, a report and options; nil options are the
// defaults. The output depends on the report and the options alone, not on the
// terminal, the time or the environment.
//
//	r, err := m.Run(ctx, nil)
//	…
//	err = report.Text(os.Stdout, r, nil)
//
// # Which one
//
//   - [Text] is for a terminal or a log: a table, then what broke and how to repeat
//     it. [Line] is one cell on a line, [CellOf] one with its evidence.
//   - [Write] is for keeping, for programs and for baselines: the run file, whose lines
//     [Schema] describes. [Read] reads it back, so that a stored run can be shown later in any
//     other form. [HeadAndEnd] is what it has besides cells. [Merge] joins those of parts of a run.
//   - [JUnit] is for CI systems that show test results.
//   - [Markdown] is for a comment on a pull request.
//   - [HTML] is one page, for the evidence in full, with pictures of runs and filters; [HTMLSince] says
//     what changed since an earlier report.
//   - [ExitCode] is the exit status of a program that ran a matrix.
//
// All of them show the verdict of [contract.Report.Score]; none computes its own. A nil report and
// options that are not allowed are a [*FieldError], before anything is written; the other errors are
// those of the writer.
//
// # The run file
//
// A run file is JSON Lines: a head, a line for each unit (the cells of a scenario and trial), and
// an end, which is the report without its cells. While a run lasts, its units are appended
// ([contract.RunOptions.File]). Each line ends with a sum of itself. Read folds the units by the
// code that folds a run, and compares the result with the end.
//
// # What an agent wrote
//
// Answers, errors and arguments come from a model and may contain anything.
// Everywhere but in the run file, characters that cannot be printed are shown as Go
// escapes, so a terminal sequence has no effect. Text with a meaning in the format
// is escaped; in Text that is a command to the CI system that stores the log. The run file
// keeps the text as it is, except for bytes that are not UTF-8. Nothing is
// redacted: a secret in an answer is a secret in the report.
//
// # Costs
//
// Time and memory grow with the size of the report. Text, Markdown and HTML
// show a limited number of broken cells and say how many they left out; the run file
// and JUnit have all.
//
// Stability: stable.
package report
