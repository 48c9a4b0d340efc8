// Package mutate says prompts in other words, so that a matrix asks whether an agent still
// does its task, and does nothing else.
//
//	set, err := mutate.New(&mutate.Options{Seed: 1, Variants: 2})
//	scenarios, unchanged, err := set.Scenarios(ctx, m.Prompts)
//	m.Scenarios = append(m.Scenarios, scenarios...)
//	r, err := m.Run(ctx, nil)
//	robustness, err := set.Score(r)
//
// A [Kind] is a way to change a text: typing errors, courtesies, an encoding, an injected
// instruction. A mutation is a variant of a kind. Each mutation is a scenario, such as
// "typo-1", which sends every prompt in its words; see [contract.Scenario].Rewrite.
//
// # Intents
//
// Kinds of intent [Same] ask for the same thing: every invariant should hold as it does in
// calm. They leave alone what checks look for: digits, identifiers, quotations, addresses,
// code, and capitalised words within a sentence, which may be names. Encodings hide these
// too, and can be undone. Kinds of intent [Attack] add something hostile to the task. With
// kinds of intent [Lost] the task cannot be done; they are made only if they are named.
//
// Only the texts are known here, not what they mean. That a text came out as the agent's
// maker would understand it is not checked.
//
// # Texts
//
// All texts are made before the matrix runs. A text depends on the seed, the kind, the
// variant and the prompt: the same seed gives the same texts in every release, whatever
// other prompts and kinds there are. A text that came out as it was tests nothing: it is
// listed, and does not count as delivered.
//
// Own kinds are values of [Mutator]. Use one that asks a language model over a cassette or a
// cache of your own, or the texts change with the model.
//
// # Score
//
// Robustness is the share of mutations that broke nothing, weighted by kind; see
// [Set.Score].
//
// docs/reference/mutations.md has a table of all kinds, with an example of each.
//
// Stability: may change.
package mutate
