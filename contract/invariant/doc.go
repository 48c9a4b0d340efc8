// Package invariant has ready-made promises for a contract matrix.
//
// Each constructor returns a [contract.Invariant]: an ID, a severity, and what
// is to hold. An ID is the invariant's name in reports and in names of subtests.
//
//	Invariants: []contract.Invariant{
//		invariant.Completes("answers", contract.High),
//		invariant.ExactlyOnce("one-refund", contract.Critical, support.Refunds),
//		invariant.CallsAtMost("no-storm", contract.Medium, 6, "orders.*"),
//		invariant.Contains("names-the-order", contract.High, "1042"),
//	}
//
// # What they look at
//
//   - The answer: [Contains], [ContainsAny], [Regex], [Excludes],
//     [ExcludesRegex], [NotEmpty], [ValidJSON].
//   - The answer, read as prose: [NoPII], [NoLeak], [Refuses], and beside something
//     else [Grounded], [ClaimsMatchState].
//   - How it came: [Completes], [Within].
//   - The answer beside a calm one: [BehaviorUnchanged].
//   - The answer and the calls: [NoExfiltration].
//   - The calls, not the answer: [CallsAtMost], [NeverCalls], [CallsBefore], [BacksOff].
//   - The state, not the answer: [ExactlyOnce], [AtMostOnce], [StateUnchanged], [PartUnchanged].
//
// Those over calls and state, [Completes] and [ClaimsMatchState] also judge an
// answer that is an error: an agent that gave up may still have kept them. All
// others are broken by an error before they are asked. The field
// [contract.Invariant.JudgesErrors] of what a constructor returns may be set
// otherwise, as may Applies and Probes.
//
// # Arguments that make no sense
//
// Constructors do not panic and do not return errors. What is wrong with their
// arguments, all of it, stands in [contract.Invariant.Problem], which
// [contract.Matrix.Validate] reports before an agent is called; each problem is
// an [*ArgumentError].
//
// # Undecided
//
// An invariant that cannot tell returns [contract.ErrUndecided]: one that
// counts calls when some of them did not fit the log, one that reads a state of
// another type, one whose similarity function failed.
//
// Those that read prose hold only on what they recognise, break only on what
// they recognise, and are undecided otherwise, which makes a cell inconclusive; the
// error says what would decide it. They know English, German, French and Spanish.
// State and structure are the better witnesses: a canary for what a probe asks for, a
// structured outcome beside the answer, twin runs with one value changed, persons
// that the test made up. docs/invariants.md has a table of how often each was right, wrong and undecided.
//
// # Cost
//
// Everything a constructor can prepare it prepares once; those that read prose
// take some milliseconds for it. A Check takes time in
// proportion to the answer, apart from [BehaviorUnchanged], whose limit is
// stated at [WordSimilarity]. All are safe for concurrent use.
package invariant
