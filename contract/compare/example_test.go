package compare_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/contract/report"
)

func ExampleReports() {
	held := strings.Repeat("h", 20)
	before := made("calm/one-refund", held, "refund-reply-lost/one-refund", held)
	after := made("calm/one-refund", held, "refund-reply-lost/one-refund", "bbbhbbbbhbbhbhbhhbhh")

	c, err := compare.Reports(before, after, &compare.Options{Before: "main.json"})
	fmt.Print(c)
	fmt.Println(c.Regressed(), err)
	// Output:
	// matrix: whether prompts and rules are equal is not known: a report has no fingerprint
	// refund-reply-lost / one-refund: 20 of 20 in main.json, 8 of 20 now, 12 worse, 0 better (McNemar p .0002 one-sided, Holm over 2 fields .0005; -60 points, 95 % interval -78 to -33, Newcombe): worse
	// over 2 scenarios: 1 worse, 0 better, mean difference -30 points, 95 % interval -100 to +100, by scenario; in these scenarios: p .0002 one-sided over 40 trials: worse; in such scenarios: p .5 one-sided over 2 scenarios
	// 20 trials a field can see a drop from 95 % to 48 % (paired, 9.5 % noise, one-sided .015 in each of 2 fields, power 80 %)
	// 40 trials of all fields together can see a drop from 95 % to 69 % (paired, 9.5 % noise, one-sided .02, power 80 %)
	// 2 of 2 fields compared, 1 worse
	// true <nil>
}

// A baseline that was kept is read with report.Read.
func ExampleReports_baseline() {
	before := made("calm/one-refund", "hhhhb", "flaky/one-refund", "hhhhh")
	var file bytes.Buffer
	if err := report.Write(&file, judged(before), &report.WriteOptions{Stable: true, WithoutEvidence: true}); err != nil {
		fmt.Println(err)
	}
	kept, err := report.Read(&file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := compare.Reports(kept, before, nil)
	fmt.Println(c.Compared(), c.Regressed(), err)
	// Output: 2 false <nil>
}
