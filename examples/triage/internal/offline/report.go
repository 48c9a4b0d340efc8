package offline

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"time"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// The report has the facts that Stated reads and the headings
// that incident.ReadFinding reads.
const reportText = `# Investigation

{{if not .Culprit.Node -}}
No node did worse around {{at .Event.At}} than before. The event said "{{.Event.Reason}}"; {{len .Window.Series}} nodes of run {{.RunID}} were looked at.

## Root Cause

Not found. The fault may have left no trace, or it was injected where the timeline does not show it.

Confidence: low
{{else -}}
## What failed

- Target: {{.Culprit.Node}}
- Kind: {{.Event.Reason}}
- Since: {{at .Since}}
{{- if .Settled}}
- Until: {{at .Until}}
{{- else}}
- Still so at {{at (written .)}}, when this was written
{{- end}}

## Root Cause

{{.Culprit.Node}} is {{how .Culprit.How}}: {{change .Culprit}}. Nothing that it calls was unwell enough to explain that.

## Who else was affected

{{range .Victims -}}
- {{.Node}} ({{.Link}}): {{.How}}, {{if eq .How "starved"}}{{printf "%.0f calls, %.0f before" .During.Calls .Before.Calls}}{{else}}{{change .Symptom}}{{end}}
{{else -}}
Nobody.
{{end}}
## Recovery

{{if .Settled -}}
It was well again at {{at .Until}}. Recovery time: {{lasted .}}, from the first bad call to the end of the last bad bin; {{.Culprit.Good}} good bins followed.
{{else -}}
Recovery time: not yet known. It had not been well for {{settled}} bins with calls when this was written.
{{end}}
## Confidence

Confidence: {{word .Confidence}}

{{printf "%.2f" .Confidence}} of 1, from the symptom ({{printf "%.2f" .Culprit.Score}}), {{if .RunnerUp.Node}}the other suspect {{.RunnerUp.Node}} ({{printf "%.2f" .RunnerUp.Score}}){{else}}no other suspect{{end}}, and {{printf "%.0f" .Culprit.Before.Calls}} calls before to compare with.

## Evidence

| bins of {{.Window.Window.BinSize}} | calls | failed | mean latency |
|---|---|---|---|
| before | {{row .Culprit.Before}} |
| {{at (first .)}} to {{at .Until}} | {{row .Culprit.During}} |

{{range .Outages -}}
- detect_outages: {{.Type}} from {{at .StartTs}} to {{at .EndTs}}, severity {{.Severity}}: {{.Details}}
{{else -}}
- detect_outages: no outage by its rule at the time
{{end -}}
{{with .Recovery -}}
{{if .RecoveryTs}}- compute_recovery_time: well again at {{at .RecoveryTs}}, after {{.DurationBins}} bins, by {{.BasedOn}}
{{else}}- compute_recovery_time: no recovery seen{{end}}
{{- range .Notes}}; {{.}}{{end}}
{{end -}}
{{range .Notes -}}
- not answered: {{.}}
{{end -}}
- run {{.RunID}}, {{len .Graph.Nodes}} nodes, {{len .Graph.Edges}} edges
{{end}}`

// Report is the report, in Markdown.
func (q *Inquiry) Report() []byte {
	var out bytes.Buffer
	t := template.Must(template.New("report").Funcs(template.FuncMap{
		"at": at, "how": howWords, "change": change, "word": Word, "row": row,
		"lasted":  func(q *Inquiry) time.Duration { return q.lasted().Round(time.Millisecond) },
		"first":   func(q *Inquiry) time.Time { return startOf(q.Window.Window, q.Culprit.First) },
		"written": func(q *Inquiry) time.Time { return q.Window.Window.End },
		"settled": func() int { return settledBins },
	}).Parse(reportText))
	if err := t.Execute(&out, q); err != nil {
		fmt.Fprintf(&out, "\n\nThe report ends here: %v\n", err)
	}
	return out.Bytes()
}

// Stated is what a report states in lines such as "- Target: refund", by name.
func Stated(report []byte) map[string]string {
	facts := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^- (Target|Kind|Since|Until): (.*)$`).FindAllStringSubmatch(string(report), -1) {
		facts[m[1]] = m[2]
	}
	return facts
}

func at(t any) string {
	switch t := t.(type) {
	case time.Time:
		return t.UTC().Format(time.RFC3339Nano)
	case *time.Time:
		return t.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(t)
}

func howWords(how string) string {
	return cmp.Or(map[string]string{Failing: "the deepest node whose calls failed",
		Slow: "the deepest node that was slow"}[how], how)
}

// change describes how the numbers changed.
func change(x Symptom) string {
	if x.How == Slow {
		return fmt.Sprintf("%s ms a call, %s ms before", ms(x.During.Latency), ms(x.Before.Latency))
	}
	return fmt.Sprintf("%.0f of %.0f calls failed (%.0f%%), %.0f of %.0f before", x.During.Failed,
		max(x.During.Calls, x.During.Failed),
		100*x.During.Share(), x.Before.Failed, x.Before.Calls)
}

func ms(v float64) string { return timeline.Value(v).String() }

func row(r Rate) string {
	latency := ms(r.Latency)
	if latency != "n/a" {
		latency += " ms"
	}
	return strings.Join([]string{fmt.Sprintf("%.0f", r.Calls), fmt.Sprintf("%.0f", r.Failed), latency}, " | ")
}
