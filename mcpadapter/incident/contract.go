package incident

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
)

// TriageOptions are the settings of [ContractAgent]. Both functions are required.
type TriageOptions struct {
	_ struct{}
	// Workload is the program whose faults are investigated: it calls the tools for
	// a while. Its error is a consequence of the faults and does not stop the run.
	Workload func(ctx context.Context, tools chaos.ToolRegistry) error
	// Agent makes the agent of a cell from what happened there: a run of the
	// timeline, a server with its tools, or only the events.
	Agent func(events []chaos.Event) Agent
	// Withhold leaves the target out of the incident, and the cell, whose name may
	// reveal it: the agent has to find it. The kind of the resource, and the
	// namespace of a dotted target, stay.
	Withhold bool
	// Timeout is the agent's; 0: 300 s.
	Timeout time.Duration
}

// calm is the answer where no fault was delivered.
const calm = "No incident."

// ContractAgent makes a triage agent the agent of a contract, so that a matrix
// can check whether it finds what was injected. The workload runs under the
// cell's faults. The first delivered fault becomes an incident in a workspace of
// its own, and the answer is the agent's report. A line before it holds the
// time from which the cell's events count, for [FindsRootCause].
//
// An incident that does not end as resolved is the agent's error.
func ContractAgent(options *TriageOptions) contract.Agent {
	var o TriageOptions
	if options != nil {
		o = *options
	}
	return func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		if o.Workload == nil || o.Agent == nil {
			return "", errors.Join(required("Workload", o.Workload == nil), required("Agent", o.Agent == nil))
		}
		in := chaos.FromContext(ctx)
		if in == nil {
			return "",
				errors.New("incident: there is no injector in the context: the agent runs in the cell of a matrix")
		}
		armed := time.Now().Add(-in.Elapsed())
		_ = o.Workload(ctx, tools)
		events := in.Events()
		i := slices.IndexFunc(events, func(e chaos.Event) bool { return e.Rule != "" && e.Delivered })
		if i < 0 {
			return calm, nil
		}
		report, err := o.investigate(ctx, events[i], armed, o.Agent(events))
		return clockLine + armed.UTC().Format(time.RFC3339Nano) + "\n\n" + report, err
	}
}

func required(field string, missing bool) error {
	if !missing {
		return nil
	}
	return fields.Wrong(field, nil, "a function")
}

// clockLine says from when the times of a cell's events count.
const clockLine = "Events count from: "

// investigate has an agent investigate one event in a workspace, as a runner does.
func (o *TriageOptions) investigate(ctx context.Context, e chaos.Event, armed time.Time, a Agent) (string, error) {
	root, err := os.MkdirTemp("", "triage-")
	if err != nil {
		return "", fmt.Errorf("incident: %w", err)
	}
	defer os.RemoveAll(root)
	spaces, err := NewWorkspaces(root)
	if err != nil {
		return "", err
	}
	event, err := ParseEvent("chaos/resource-faults", o.payload(e, armed), time.Now())
	if err != nil {
		return "", err
	}
	now := time.Now()
	in := (&openCase{id: newUUID(), event: event, created: now, started: now}).incident()
	if err := errors.Join(spaces.makeRoom(in.IncidentID, 1), spaces.Save(in, nil)); err != nil {
		return "", err
	}
	job := Job{Incident: in, Dir: spaces.Dir(in.IncidentID), Timeout: cmp.Or(o.Timeout, defaultTimeout)}
	result := investigate(ctx, a, job, abandonAfter)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	report, wrong := readReport(job.Dir)
	if in = in.ended(time.Now(), result, wrong); in.Status != StatusResolved {
		return "", fmt.Errorf("incident: %s: %s", in.Status, in.FailureReason)
	}
	return string(report), nil
}

func (o *TriageOptions) payload(e chaos.Event, armed time.Time) json.RawMessage {
	p := faulthub.NewFlat(e, faulthub.Origin{Cluster: e.Cell, Armed: armed})
	if o.Withhold {
		p.Cluster = "" // a cell is named by its scenario, which often names what it breaks
		if p.Resource.Namespace == p.Resource.Name {
			p.Resource.Namespace = "" // a target without a dot is its own subsystem
		}
		p.Resource.Name, p.Context = "", ""
	}
	doc, _ := json.Marshal(p) // plain values always have JSON
	return doc
}

// FindsRootCause holds if the report of a [ContractAgent] states what was
// injected (see [Diagnosis]):
//
//   - a target in which the rule of the first delivered fault injected one
//   - its kind
//   - the time of its first delivery, within the tolerance
//   - an end not before its last delivery less the tolerance
//
// It applies to cells with faults, and is undecided if none was delivered.
func FindsRootCause(name string, severity contract.Severity, tolerance time.Duration) contract.Invariant {
	return contract.Invariant{
		Name: name, Severity: severity, Applies: contract.AnyFault,
		Check: func(_ context.Context, o *contract.Observation) error {
			truth, ok := injected(o.Events)
			if !ok {
				return fmt.Errorf("%w: no fault was delivered", contract.ErrUndecided)
			}
			armed, ok := armedAt(o.Response)
			if !ok {
				return errors.New("incident: the answer is not that of a ContractAgent")
			}
			return truth.compare(ReadDiagnosis([]byte(o.Response)), armed, tolerance)
		},
	}
}

// injection is the truth about a rule.
type injection struct {
	targets     []string
	kind        string
	first, last time.Duration
}

func injected(events []chaos.Event) (truth injection, ok bool) {
	rule := ""
	for _, e := range events {
		if e.Rule == "" || !e.Delivered || ok && e.Rule != rule {
			continue
		}
		if !ok {
			rule, ok = e.Rule, true
			truth.kind, truth.first = e.Fault, e.Start
		}
		truth.targets = append(truth.targets, e.Target)
		truth.first, truth.last = min(truth.first, e.Start), max(truth.last, e.End)
	}
	return truth, ok
}

func armedAt(response string) (time.Time, bool) {
	line, _, _ := strings.Cut(response, "\n")
	text, ok := strings.CutPrefix(line, clockLine)
	at, err := time.Parse(time.RFC3339, text)
	return at, ok && err == nil
}

// compare returns where a diagnosis differs from the truth.
func (t injection) compare(d Diagnosis, armed time.Time, tolerance time.Duration) error {
	var wrong []error
	if !slices.Contains(t.targets, d.Target) {
		wrong = append(wrong,
			fmt.Errorf("target is %q, injected was %q", d.Target,
				slices.Compact(slices.Sorted(slices.Values(t.targets)))))
	}
	if d.Kind != t.kind {
		wrong = append(wrong, fmt.Errorf("kind is %q, injected was %q", d.Kind, t.kind))
	}
	first, last := armed.Add(t.first), armed.Add(t.last)
	if d.Since.Sub(first).Abs() > tolerance {
		wrong = append(wrong, fmt.Errorf("since is %s, the first fault was at %s", stated(d.Since), stated(first)))
	}
	if !d.Until.IsZero() && d.Until.Before(last.Add(-tolerance)) {
		wrong = append(wrong, fmt.Errorf("until is %s, the last fault was at %s", stated(d.Until), stated(last)))
	}
	return errors.Join(wrong...)
}

func stated(t time.Time) string {
	if t.IsZero() {
		return "not stated"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
