// Package search finds out which few faults break an agent.
//
// A matrix reports broken cells, often a hundred of them for a handful of causes.
// [Explain] runs the agent again under fewer and milder faults until each broken cell is
// one of a few defects: a way to break that needs all of its faults, in a sentence, with
// facts that were seen in runs.
//
//	report, err := m.Run(ctx, nil)
//	...
//	err = search.Explain(ctx, m, report, &search.Options{Budget: search.Budget{Runs: 2000}})
//	for _, d := range report.Defects {
//		fmt.Println(d.Severity, d.Sentence) // critical pay fails twice in a row
//	}
//
// Package contracttest does so by itself. [Cure] then finds habits that mend defects.
// [Sweep] needs no scenarios: it tries faults on the calls of a calm run. [Scan] finds how
// much of a fault each invariant holds out, and [Repeat] where two calm runs first differ.
// The page docs/search.md says what each of their sentences claims and what it does not.
//
// # How it looks
//
// Broken cells are grouped by scenario, invariant and the shape of the reason: the reason
// without quoted texts, names of injection points and numbers. For each group:
//
//   - The cell runs again under the rules of its scenario, with the same names, so that
//     every draw stays. What was delivered in it can be left out, delivery by delivery.
//   - A dichotomic search finds a set of deliveries that breaks the same invariant for a
//     reason of the same shape, and of which none can be left out (Hemery, Lecoutre, Sais
//     and Boussemart, Extracting MUCs from Constraint Networks, ECAI 2006).
//   - Milder faults are tried in the place of each. What is not needed beside them is left
//     out, and again.
//   - Each fault of the result is lifted from the cell. Where that breaks the invariant all
//     the same, the cell has another cause in it, which is searched alike (Reiter, A Theory
//     of Diagnosis from First Principles, Artificial Intelligence 32, 1987).
//
// Groups are one defect when they break by the same pattern at the same targets, or break
// one invariant alike by the same pattern with one target.
//
// If a run differs from its cell, the agent does not repeat itself. Then a sequential test
// ([stats.SPRT]) answers each question in several runs, and what was found is run afresh
// until it breaks four times, beside calm runs.
//
// # Results and costs
//
// Questions ask for one run at a time; the open ones of all questions are made together,
// round by round. So the defects and the number of runs are the same at any number of
// workers. A budget of runs or of cost cuts within a round, in order; one of time after a
// round. A defect whose search was cut says so.
//
// A search adds some microseconds to each run, and keeps a few hundred bytes of it. Each
// run is as in a matrix: see [contract.Matrix.Runner].
//
// Stability: may change.
package search
