// Package lies has the faults that do not look like one: the call succeeds, and
// what it returns is wrong. Any agent notices a tool that fails. An agent does
// not notice last week's balance, a missing row, another customer's order, or a
// text that gives instructions to the model.
//
//	p, err := chaos.NewPlan(1,
//		chaos.Rule{Target: "orders.get", Fault: lies.Scale(-2, "$.total")},
//		chaos.Rule{Target: "orders.list", When: when.Prob(0.3), Fault: lies.CutList(0.5)},
//		chaos.Rule{Target: "stock.*", Fault: lies.Stale(1)},
//		chaos.Rule{Target: "mail.read", Fault: lies.Inject(lies.Attack{Kind: lies.Exfiltration})},
//		chaos.Rule{Target: chaos.ListTarget, Fault: lies.PoisonTool("refund")},
//	)
//
// # The lies
//
//   - Something is left out: [Empty], [Null], [Missing], [CutText], [CutList], [MissingPage], [PartialBatch].
//   - The form is broken: [Malformed], [HTMLPage], [ErrorBody], [Mojibake], [Oversized].
//   - A value is wrong: [WrongNumber], [Scale], [FlipSign], [SwapDigits], [OffByOne], [Overflow], [NotANumber],
//     [ShiftDate], [SwapUnit], [FlipType].
//   - Things are mixed up: [SwapFields], [SwapEntity], [FabricateRecord], [DanglingReference], [DuplicateRows],
//     [ReorderRows], and [Contradict] between two tools.
//   - The answer is an old or another one: [Stale], [Frozen], [Crossed], [Replayed].
//   - The interface has changed: [RenameKey], [RemoveKey], [AddKey], [Retype], [Envelope], [SchemaDrift],
//     [UnknownEnum], [ChangeArguments].
//   - An agent's context or memory is damaged: [TruncateMessages], [StaleMessages], [DropMessages],
//     [ReorderMessages], [DuplicateMessage], [NoiseMessages], [OverflowMessages], [Poison], [RollBack].
//   - Adversarial content: [Inject] in results, an [Attack] of four kinds; [PoisonTool],
//     [ShadowTool], [ChurnTools] in the list of tools. [Leaks] reports where an agent passed a canary on.
//
// [Arguments] applies any of them to the arguments of a call instead of its
// result. [InText] applies one to the JSON within a text. The page docs/reference/faults.md
// shows an example of each.
//
// # Where
//
// Paths are those of RFC 9535 with members (.name, ['name'], *, at any
// depth ..), elements ([0], [-1]) and conditions ([?(@.status=='open' &&
// @.total>3)]).
//
// With paths a lie changes every value that they name and that suits it.
// Without paths it ranks the values of the result and draws one of the best
// from the coordinates of the call. If nothing would change there, it takes the
// next one. [Empty], [Null], [Envelope] and a few others then change the whole
// result; their comments say so.
//
// # What it acts on
//
// A result that holds JSON (a json.RawMessage, []byte or string) is changed in place;
// all other bytes stay. A text that is no JSON is one string. Any other Go value is
// encoded, changed, and decoded into a new value of its type. An error passes through.
//
// A lie that changed nothing, or nothing that the type of the result shows, is not
// delivered, and a note in the event says why. A delivered lie has [chaos.Change]
// values in its event: the path, before and after, of values beyond 4 KB the beginning
// and the end.
//
// The place, digit or row follows from the coordinates of the call and from the
// document, whatever the order of calls. [Stale], [Frozen], [Crossed],
// [Replayed], [RollBack] and [Contradict] remember earlier calls of their
// injector, up to 8 MiB of answers, and see only those that their rule's trigger
// matched.
//
// A lie costs one pass over the document, an index of 28 bytes a value, and one
// copy with the changes: less than decoding and encoding it once. Lies are safe
// for concurrent use.
//
// Stability: stable.
package lies
