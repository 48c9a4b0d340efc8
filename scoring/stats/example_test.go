package stats_test

import (
	"fmt"

	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// One task always passes, the other passes half the time.
func ExamplePassEvery() {
	tasks := []stats.Tally{{Name: "track", Passed: 10, Trials: 10}, {Name: "refund", Passed: 5, Trials: 10}}
	for _, k := range []int{1, 2, 5} {
		at, _ := stats.PassAt(tasks, k, scoring.Level95)
		every, _ := stats.PassEvery(tasks, k, scoring.Level95)
		fmt.Printf("k %d: at least one passes %.3f, all pass %.3f\n", k, at.Value, every.Value)
	}
	_, err := stats.PassEvery(tasks, 20, scoring.Level95)
	fmt.Println(err)
	// Output:
	// k 1: at least one passes 0.750, all pass 0.750
	// k 2: at least one passes 0.889, all pass 0.611
	// k 5: at least one passes 0.998, all pass 0.502
	// stats: tasks["track"].Trials is 10; allowed: k or more
	// stats: tasks["refund"].Trials is 10; allowed: k or more
}

// The same counts, four kinds of interval: which one is right depends on how the
// trials came about.
func ExampleClustered() {
	scenarios := []stats.Tally{
		{Name: "calm", Passed: 20, Trials: 20}, {Name: "late", Passed: 19, Trials: 20},
		{Name: "lost", Passed: 4, Trials: 20}, {Name: "flaky", Passed: 17, Trials: 20},
	}
	wilson, _ := scoring.Wilson(60, 80, scoring.Level95)
	exact, _ := stats.ClopperPearson(60, 80, scoring.Level95)
	anyTime, _ := stats.AnyTime(60, 80, scoring.Level95)
	fmt.Printf("as if independent %.2f to %.2f, exact %.2f to %.2f, stopped at will %.2f to %.2f\n",
		wilson.Low, wilson.High, exact.Low, exact.High, anyTime.Low, anyTime.High)

	s, err := stats.Clustered(scenarios, scoring.Level95)
	fmt.Printf("by scenario %.2f to %.2f; %.0f trials say as much as one independent one (%v)\n",
		s.Interval.Low, s.Interval.High, s.DesignEffect, err)
	// Output:
	// as if independent 0.65 to 0.83, exact 0.64 to 0.84, stopped at will 0.58 to 0.88
	// by scenario 0.26 to 0.99; 15 trials say as much as one independent one (<nil>)
}

func ExampleNeeded() {
	for _, low := range []float64{0.9, 0.95, 0.99} {
		n, err := stats.Needed(low, scoring.Level95)
		fmt.Println(low, n, err)
	}
	// Output:
	// 0.9 29 <nil>
	// 0.95 59 <nil>
	// 0.99 299 <nil>
}

func ExampleSPRT() {
	test := stats.SPRT{P0: 0.80, P1: 0.95, Alpha: 0.05, Beta: 0.05, Max: 60}
	for _, seen := range []stats.Tally{{Passed: 17, Trials: 18}, {Passed: 26, Trials: 27}, {Passed: 5, Trials: 9}} {
		s, err := test.Decide(seen.Passed, seen.Trials)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d of %d: %v", seen.Passed, seen.Trials, s.Decision)
		if s.Decision == stats.Open {
			fmt.Printf("; %d more passes in a row would accept, about %.0f trials at this rate", s.Passes, s.Trials)
		}
		fmt.Println()
	}
	law, _ := test.Law(0.80)
	fmt.Printf("a rate of 80 %% is accepted in %.1f %% of tests, after %.0f trials on average\n", 100*law.Accept, law.Trials)
	// Output:
	// 17 of 18: open; 9 more passes in a row would accept, about 17 trials at this rate
	// 26 of 27: accepted
	// 5 of 9: rejected
	// a rate of 80 % is accepted in 4.1 % of tests, after 22 trials on average
}

// Before the change 20 of 20 passed, after it 8, under the same faults.
func ExampleMcNemar() {
	pairs := stats.Pairs{Both: 8, Worse: 12}
	p, _ := stats.McNemar(pairs)
	d, _ := stats.PairedDifference(pairs, scoring.Level95)
	fmt.Printf("p %.4f; %+.2f, 95 %% interval %+.2f to %+.2f\n", p.TwoSided, d.Value, d.Low, d.High)

	adjusted, _ := stats.Holm([]float64{p.TwoSided, 0.04, 0.3})
	fmt.Printf("over 3 fields: %.4f\n", adjusted)

	scenarios := []float64{-12, -3, -1, 0, 2, -1, -2} // trials better less worse, by scenario
	over, _ := stats.SignFlip(scenarios, 1)
	fmt.Printf("over the scenarios: p %.3f, for the worse %.3f\n", over.TwoSided, over.Worse)
	// Output:
	// p 0.0005; -0.60, 95 % interval -0.78 to -0.33
	// over 3 fields: [0.0015 0.0800 0.3000]
	// over the scenarios: p 0.188, for the worse 0.094
}

func ExampleFisherExact() {
	p, err := stats.FisherExact(stats.Tally{Name: "before", Passed: 19, Trials: 20}, stats.Tally{Name: "after", Passed: 13, Trials: 20})
	fmt.Printf("p %.3f, for the worse %.3f (%v)\n", p.TwoSided, p.Worse, err)
	// Output: p 0.044, for the worse 0.022 (<nil>)
}

func ExampleTrials() {
	for _, d := range []stats.Design{{}, {Paired: true}, {Paired: true, Noise: 0.05}, {TwoSamples: true}} {
		n, err := stats.Trials(d, 0.95, 0.85, 0.05, 0.80)
		fmt.Println(n, err)
	}
	to, err := stats.Detectable(stats.Design{Paired: true}, 20, 0.95, 0.05, 0.80)
	fmt.Printf("20 pairs can see a drop from 95 %% to %.0f %% (%v)\n", 100*to, err)
	// Output:
	// 59 <nil>
	// 66 <nil>
	// 100 <nil>
	// 126 <nil>
	// 20 pairs can see a drop from 95 % to 64 % (<nil>)
}
