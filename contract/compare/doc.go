// Package compare reports whether an agent got worse between two builds.
//
// # Concept
//
// A broken trial more than last week is a regression, or bad luck. Package
// scoring/stats says how likely luck is; this package applies it to two reports: which
// trials have a partner, which fields are alike, how many comparisons were made, and
// what so many trials could have seen at all.
//
//	before, err := report.Read(file, nil)             // the baseline, a run file
//	c, err := compare.Reports(before, after, nil)
//	fmt.Print(c)
//	// refund-reply-lost / one-refund: 20 of 20 before, 8 of 20 now, 12 worse, 0 better (…): worse
//
// Under go test it is one line: contracttest.AssertNoRegression.
//
// # Two builds
//
// [Reports] names in what the matrices differ, compares the fields in common, and lists
// the others. A field whose rules or prompts changed is not compared: it asks something
// else. See [Comparison] for what comes out, as text or as JSON.
//
// # What it does not say
//
// No regression is not "as good as before". [Power] says which drop so many trials can
// see, and a smaller one goes by unseen. A field without delivered faults, or without a
// decision, is neither better nor worse, and is named.
//
// # Costs
//
// Time grows with the cells. 10⁵ of them take some tens of milliseconds, and the tests of all
// fields together up to a second more.
//
// Stability: may change.
package compare
