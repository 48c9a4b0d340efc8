// Package report shows a [contract.Report] to people and to other programs.
//
// Every function takes a writer, a report and options; nil options are the
// defaults. The output depends on the report and the options alone, not on the
// terminal, the time or the environment; only [Compact], without options, states versions.
//
//	r, err := m.Run(ctx, nil)
//	…
//	err = report.Text(os.Stdout, r, nil)
//
// # Which one
//
//   - [Text] is for a terminal or a log: a table, then what broke and how to repeat
//     it. [Cell] writes one cell in the same words.
//   - [JSON] is for programs and for storage; [Schema] describes it and
//     [FromJSON] reads it back, so that a stored report can be shown later in any
//     other form.
//   - [JUnit] is for CI systems that show test results.
//   - [Markdown] is for a comment on a pull request.
//   - [Compact] is for a baseline, and for a file to sign: counts and states, without what an
//     agent said. [Verify] reads it back and computes it again.
//   - [HTML] is one file without scripts, for the evidence in full.
//
// All of them show the verdict of [contract.Report.Score]; none computes its own.
//
// # What an agent wrote
//
// Answers, errors and arguments come from a model and may contain anything.
// Everywhere but in JSON, characters that cannot be printed are shown as Go
// escapes, so a terminal sequence has no effect. Text with a meaning in the format
// is escaped; in Text that is a command to the CI system that stores the log. JSON
// keeps the text as it is, except for bytes that are not UTF-8. Nothing is
// redacted: a secret in an answer is a secret in the report.
//
// # Costs
//
// Time and memory grow with the size of the report. Text, Markdown and HTML
// show a limited number of broken cells and say how many they left out; JSON
// and JUnit have all.
package report
