// Package lies has the faults that do not look like one: the call succeeds, and
// what it returns is wrong. A tool that fails is noticed by any agent; one that
// answers with last week's balance, a row too few or somebody else's order is
// not, and neither is one whose text tells the model what to do.
//
//	p, err := chaos.NewPlan(1,
//		chaos.Rule{Target: "orders.get", Fault: lies.Scale(-2, "$.total")},
//		chaos.Rule{Target: "orders.list", When: when.Prob(0.3), Fault: lies.CutList(0.5)},
//		chaos.Rule{Target: "stock.*", Fault: lies.Stale(1)},
//		chaos.Rule{Target: "mail.read", Fault: lies.Exfiltrate(lies.Attack{})},
//		chaos.Rule{Target: chaos.ListTarget, Fault: lies.PoisonTool("refund")},
//	)
//
// # The lies
//
//   - Something is left out: [Empty], [Null], [Missing], [CutText], [CutList], [MissingPage], [PartialBatch].
//   - The form is broken: [Malformed], [HTMLPage], [ErrorBody], [Mojibake], [InvalidUTF8], [Oversized].
//   - A value is wrong: [WrongNumber], [Scale], [FlipSign], [SwapDigits], [OffByOne], [Overflow], [NotANumber],
//     [ShiftDate], [SwapUnit], [FlipType].
//   - Things are mixed up: [SwapFields], [SwapEntity], [FabricateRecord], [DanglingReference], [DuplicateRows],
//     [ReorderRows], and [Contradict] between two tools.
//   - The answer is an old or another one: [Stale], [Frozen], [Crossed], [Replayed].
//   - The interface has changed: [RenameKey], [RemoveKey], [AddKey], [Retype], [Envelope], [SchemaDrift],
//     [UnknownEnum], [ChangeArguments].
//   - An agent's context or memory is damaged: [TruncateMessages], [StaleMessages], [DropMessages],
//     [ReorderMessages], [DuplicateMessage], [NoiseMessages], [OverflowMessages], [Poison], [RollBack].
//   - Somebody means harm: [Instruct], [SpoofAuthority], [Exfiltrate], [HijackGoal] in results; [PoisonTool],
//     [ShadowTool], [ChurnTools] in the list of tools. [Leaks] reports whether an agent passed a canary on.
//
// [Arguments] tells any of them to the callee, about the arguments of a call;
// [InText] tells one about the JSON within a text.
// The page docs/lies.md shows an example of each.
//
// # Where
//
// Paths are those of RFC 9535 with members (.name, ['name'], several, *, at any
// depth ..), elements ([0], [-1], [1:3]) and conditions
// ([?(@.status=='open' && @.total>3)]). A lie acts on every value that its paths
// name and that suits it. Without paths it draws one place that suits it best from the
// coordinates of the call, and where nothing would change there takes the next.
// [Empty], [Null], [Envelope] and a few others then mean the whole result, and
// say so.
//
// # What it acts on
//
// A result that holds JSON (json.RawMessage, []byte or string, as tools and
// dispatch functions have it) is changed in place: all bytes but those that are
// meant stay, so the order of members, the spelling of numbers, their digits
// and the white space are what they were. A text that is no JSON is one string.
// Any other Go value goes through its JSON and comes back as a new value of its
// type; what its JSON does not hold is lost then.
//
// An error passes through. A lie that changed nothing, or nothing that the type
// of the result shows, is not delivered, and a note of the event says why. One
// that was has [chaos.Change] values with path, before and after; of values
// beyond 4 KB the beginning and the end.
//
// # What it depends on
//
// Which place, digit or row it is follows from the coordinates of the call and
// the document, whatever the order of calls. [Stale], [Frozen], [Crossed],
// [Replayed], [RollBack] and [Contradict] remember earlier calls of their
// injector, up to 8 MiB of answers, and see only those that their rule was drawn on.
// docs/determinism.md has a row for each.
//
// # Cost
//
// A lie costs one pass over the document, an index of 28 bytes a value, and one
// copy with the changes: for a document of 10 KB less than decoding and
// encoding it once. A Go value is encoded before and decoded after, and once more to
// see whether it shows the change. Lies are safe for concurrent use.
package lies
