package timeline_test

import (
	"fmt"
	"log"
	"time"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A search tool is called once a second. From second 10 to 14 it fails, and is
// tried twice each time.
func Example() {
	r, err := timeline.NewRun(nil)
	if err != nil {
		log.Fatal(err)
	}
	for second := range time.Duration(30) {
		s := timeline.Sample{Target: "search", Type: timeline.NodeTool, Key: uint64(second)}
		s.Start = second * time.Second
		s.End = s.Start + 80*time.Millisecond
		s.Failed = second >= 10 && second < 15
		if err := r.Add(s); err != nil {
			log.Fatal(err)
		}
		if s.Failed {
			s.Attempt = 2
			s.Start += 200 * time.Millisecond
			s.End += 200 * time.Millisecond
			if err := r.Add(s); err != nil {
				log.Fatal(err)
			}
		}
	}
	incidents, err := r.DetectOutages(timeline.Query{}, timeline.OutageRule{})
	if err != nil {
		log.Fatal(err)
	}
	for _, i := range incidents {
		fmt.Printf("%s of %s, %s: bins %d to %d\n", i.Type, i.Node, i.Severity, i.StartBin, i.EndBin)
		fmt.Println(i.Details)
	}
	// Output:
	// outage of search, high: bins 10 to 14
	// served/arrivals at most 0.5 for 5 bins: 5 arrivals, 0 served, 5 errors
}

// minute is a minute of calls, two a second; those of ten seconds take longer.
func minute(slow time.Duration) *timeline.Run {
	r, _ := timeline.NewRun(nil)
	for n := range time.Duration(120) {
		start := n * 500 * time.Millisecond
		latency := 100 * time.Millisecond
		if start >= 20*time.Second && start < 30*time.Second {
			latency = slow
		}
		_ = r.Add(timeline.Sample{Target: "llm.chat", Type: timeline.NodeLLM, Key: uint64(n), Start: start, End: start + latency})
	}
	return r
}

func ExampleRun_StateWindow() {
	r := minute(5 * time.Second)
	w, err := r.StateWindow(timeline.Query{Start: timeline.Bin(19), End: timeline.Bin(26)},
		timeline.Backlog, timeline.LatencyP95, timeline.ThroughputRatio)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range []timeline.Metric{timeline.Backlog, timeline.LatencyP95, timeline.ThroughputRatio} {
		fmt.Println(m, w.Series[0].Metrics[m])
	}
	// Output:
	// backlog [0 2 4 6 8 10 10 10]
	// latencyP95 [100 n/a n/a n/a n/a n/a 5000 5000]
	// throughputRatio [1 0 0 0 0 0 1 1]
}

func ExampleRun_RecoveryTime() {
	rec, err := minute(5*time.Second).RecoveryTime("llm.chat", &timeline.RecoveryOptions{OutageStart: timeline.Bin(20)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("recovered", rec.RecoveryTs.Format(time.TimeOnly), "after", rec.DurationBins, "bins")
	// Output:
	// recovered 00:00:34 after 14 bins
}

func ExampleCompare() {
	c, err := timeline.Compare(minute(100*time.Millisecond), minute(5*time.Second), timeline.Query{})
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range c.Changes {
		if change.Worse {
			fmt.Printf("%s of %s: %v, was %v\n", change.Metric, change.Node, change.Scenario, change.Baseline)
		}
	}
	fmt.Println("availability lost:", c.Degradation["llm.chat"])
	// Output:
	// backlog of llm.chat: 10, was 0
	// latency of llm.chat: 916.7, was 100
	// latencyP95 of llm.chat: 5000, was 100
	// capacity of llm.chat: 5.083, was 10
	// availability lost: 0
}
