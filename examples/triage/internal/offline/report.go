package offline

import (
	"bytes"
	"fmt"
	"text/template"
	"time"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// The report has the headings that incident.ReadFinding reads, and the facts on
// lines of their own.
const reportText = `# Investigation

{{if not .Culprit.Node -}}
No calls of a node failed around {{stamp .Event.At}}. The event said "{{.Event.Reason}}"; {{.Nodes}} nodes of run {{.RunID}} were looked at.

## Root Cause

Not found. The fault may have made calls slow alone, or it was injected where the timeline does not show it.

Confidence: low
{{else -}}
## What failed

- Target: {{.Culprit.Node}}
- Kind: {{.Event.Reason}}
- Since: {{stamp .Since}}
{{- if .Settled}}
- Until: {{stamp .Recovery.RecoveryTs}}
{{- else}}
- Still so at {{stamp .Asked}}, when this was written
{{- end}}

## Root Cause

{{.Culprit.Node}} is the deepest node whose calls failed: {{.Culprit.Details}}. Nothing that it calls had an outage at the time.

## Who else was affected

{{range .Affected -}}
- {{.Node}} ({{if eq .Direction upstream}}calls it{{else}}is called by it{{end}}): {{.How}}, {{.Details}}
{{else -}}
Nobody that calls it or is called by it.
{{end}}
## Recovery

{{if .Settled -}}
It was well again at {{stamp .Recovery.RecoveryTs}}. Recovery time: {{took .}}, from the first bad call to the first good second.
{{else -}}
Recovery time: not yet known. It had not been well for {{settled}} when this was written.
{{end}}
## Confidence

Confidence: {{if .Others}}medium: {{.Others}} other nodes could be meant.{{else}}high: no other node could be meant.{{end}}

## Evidence

- detect_outages: {{.Culprit.Type}} from {{stamp .Culprit.StartTs}} to {{stamp .Culprit.EndTs}}, severity {{.Culprit.Severity}}
{{if .Recovery.RecoveryTs}}- compute_recovery_time: well again at {{stamp .Recovery.RecoveryTs}}, after {{.Recovery.DurationBins}} bins, by {{.Recovery.BasedOn}}
{{else if .Recovery.Node}}- compute_recovery_time: no recovery seen
{{end -}}
{{range .Notes -}}
- not answered: {{.}}
{{end -}}
- run {{.RunID}}, {{.Nodes}} nodes
{{end}}`

// Report is the report, in Markdown.
func (q *Inquiry) Report() []byte {
	var out bytes.Buffer
	t := template.Must(template.New("report").Funcs(template.FuncMap{
		"stamp": stamp, "upstream": func() string { return timeline.Upstream },
		"settled": func() time.Duration { return settled },
		"took": func(q *Inquiry) time.Duration {
			return q.Recovery.RecoveryTs.Sub(q.Since()).Round(time.Millisecond)
		},
	}).Parse(reportText))
	if err := t.Execute(&out, q); err != nil {
		fmt.Fprintf(&out, "\n\nThe report ends here: %v\n", err)
	}
	return out.Bytes()
}
