// Package invariant has ready-made invariants for a contract matrix.
//
// Each constructor returns a [contract.Invariant] from a name, a severity and the
// condition that must hold. The name appears in reports and in names of subtests.
//
//	Invariants: []contract.Invariant{
//		invariant.Completes("answers", contract.High),
//		invariant.ExactlyOnce("one-refund", contract.Critical, support.Refunds),
//		invariant.CallsAtMost("no-storm", contract.Medium, 6, "orders.*"),
//		invariant.Contains("names-the-order", contract.High, "1042"),
//	}
//
// # What they judge
//
//   - The answer: [Contains], [ContainsAny], [Regex], [Excludes],
//     [ExcludesRegex], [NotEmpty], [ValidJSON].
//   - The answer, read as prose: [NoPII], [NoLeak], [Refuses]; together with the
//     results of tools: [Grounded]; together with the state: [ClaimsMatchState].
//   - Whether the agent answered, and how fast: [Completes], [Within].
//   - The answer compared with a calm one: [BehaviorUnchanged].
//   - The answer and the calls: [NoExfiltration], [NoCutAnswer].
//   - What was passed on, and the calls: [EmitsOnce].
//   - The calls, not the answer: [CallsAtMost], [NeverCalls], [CallsBefore], [BacksOff], [CallsWithin],
//     [NothingAfterEnd].
//   - What the calls show, as package findings finds it: [RetriesAtMost], [NoLoops],
//     [NoDuplicateEffects], [StopsWhenFinal], [NothingLeftOpen]; together with the answer:
//     [NoFalseSuccess].
//   - The state, not the answer: [ExactlyOnce], [AtMostOnce], [StateUnchanged], [StateChangesOnlyAt].
//   - A run compared with its calm twin, where nobody knows the right answer: [RetryChangesNothing],
//     [DelayChangesNothing], [OrderChangesNothing], [SpareChangesNothing].
//
// The invariants over calls and state, [Completes] and [ClaimsMatchState] also judge
// an answer that is an error: they may hold for an agent that gave up. An error breaks
// the other invariants without a Check. The fields JudgesErrors, Applies and Probes of
// the returned [contract.Invariant] may be changed.
//
// # Judges
//
// [Judged] asks a [Judge] whether a sentence is true of the answer. [WithJudge] asks one
// only where the rules of [Refuses], [ClaimsMatchState], [Grounded], [NoPII], [NoLeak] or
// [NoExfiltration] are undecided. A judge that is unsure or fails leaves the cell undecided. Package
// contract/judge makes judges of models and measures their errors.
//
// # Invalid arguments
//
// Constructors neither panic nor return errors. [contract.Invariant.Err] joins all
// problems of their arguments, each a [*FieldError]. [contract.Matrix.Validate]
// reports them before an agent is called.
//
// # Undecided
//
// An invariant that cannot decide returns [contract.ErrUndecided]: for example one
// that counts calls when some of them did not fit the log, one that reads a state
// of another type, or one whose similarity function failed.
//
// The invariants that read prose answer finite questions, and are undecided about the rest,
// which makes the cell inconclusive; the error says what would decide it. They know English,
// German, French and Spanish. docs/reference/invariants.md has a table of how often each was right, wrong
// and undecided.
//
// State and structure are more reliable than prose: a canary in place of what a probe
// asks for, a structured outcome beside the answer, two runs that differ in one value,
// made-up persons.
//
// # Cost
//
// A constructor prepares what it can once; for the invariants that read prose this
// takes some milliseconds. The time of a Check is proportional to the length of the
// answer, except for [BehaviorUnchanged]; see [WordSimilarity] for its limit. All
// invariants are safe for concurrent use.
//
// Stability: stable.
package invariant
