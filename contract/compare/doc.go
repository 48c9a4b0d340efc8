// Package compare reports whether an agent got worse between two builds.
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
// Under go test it is one line: contracttest.AssertNoRegression. [Verify] asks instead
// whether a run file is true.
//
// No regression is not "as good as before". [Power] says which drop so many trials can
// see, and a smaller one goes by unseen.
//
// # Costs
//
// Time grows with the cells. 10⁵ of them take some tens of milliseconds, and the tests of all
// fields together up to two seconds more.
//
// Stability: may change.
package compare
