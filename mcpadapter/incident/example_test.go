package incident_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// printer is a notifier that says how each incident ended.
type printer chan struct{}

func (p printer) Notify(_ context.Context, in incident.Incident, f incident.Finding) error {
	fmt.Printf("%s %s/%s: %s\n", in.FaultType, in.Resource.Kind, in.Resource.Name, in.Status)
	fmt.Println("cause:", f.RootCause)
	fmt.Println("confidence:", f.Confidence)
	p <- struct{}{}
	return nil
}

// A runner with an agent in the process. A program of its own is an
// [incident.Command]; events come from an [incident.Subscriber].
func Example() {
	root, err := os.MkdirTemp("", "incidents-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	workspaces, err := incident.NewWorkspaces(root)
	if err != nil {
		fmt.Println(err)
		return
	}
	told := make(printer)
	runner, err := incident.NewRunner(&incident.Options{
		Workspaces: workspaces,
		Notifier:   told,
		Agent: incident.AgentFunc(func(_ context.Context, job incident.Job) error {
			report := "# Investigation\n\n## Root Cause\n\nThe payment provider answered with errors.\n\n" +
				"## Confidence\n\nConfidence: high\n\n## Evidence\n\n40 of 40 calls failed, 0 of 200 before.\n"
			return os.WriteFile(filepath.Join(job.Dir, incident.ReportFile), []byte(report), 0o600)
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()

	fault := json.RawMessage(`{"faultType":"error","severity":"error","resource":{"kind":"Tool","name":"payments.refund"}}`)
	for range 3 { // the second and the third are the first again
		if err := runner.Offer("chaos/resource-faults", fault); err != nil {
			fmt.Println(err)
		}
	}
	<-told
	stop()
	<-ended
	counts := runner.Counts()
	fmt.Println(counts.Received, "events,", counts.Duplicate, "duplicates,", counts.Resolved, "resolved")
	// Output:
	// error Tool/payments.refund: resolved
	// cause: The payment provider answered with errors.
	// confidence: high
	// 3 events, 2 duplicates, 1 resolved
}

func ExampleParseSeverity() {
	_, err := incident.ParseSeverity("fatal")
	fmt.Println(err)
	// Output: incident: severity is "fatal"; allowed: info|warning|error|critical
}
