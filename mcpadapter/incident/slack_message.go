package incident

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// What Slack's Block Kit has room for: a header of 150 characters, a field of
// 2000, a section of 3000.
const (
	headerRoom  = 150
	fieldRoom   = 2000
	sectionRoom = 3000
)

// block is one of Block Kit's.
type block struct {
	Type   string `json:"type"`
	Text   *text  `json:"text,omitempty"`
	Fields []text `json:"fields,omitempty"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// incidentMessage has the five facts: cluster, namespace, resource, root cause
// and confidence. A remark stands before them, if there is one.
func incidentMessage(in Incident, f Finding, remark string) []byte {
	title := "Incident " + string(in.Status) + ": " + in.FaultType
	cause := cmp.Or(f.RootCause, in.FailureReason, "not stated")
	summary := strings.TrimSpace(remark + " " + title)
	blocks := []block{{Type: "header", Text: &text{"plain_text", cut(title, headerRoom)}}}
	if remark != "" {
		blocks = append(blocks, block{Type: "section", Text: mrkdwn(escape(remark), sectionRoom)})
	}
	return message(summary, append(blocks,
		block{Type: "section", Fields: []text{
			field("Cluster", in.Cluster), field("Namespace", in.Namespace),
			field("Resource", strings.Trim(in.Resource.Kind+"/"+in.Resource.Name, "/")),
			field("Confidence", f.Confidence),
		}},
		block{Type: "section", Text: mrkdwn("*Root cause*\n"+escape(cause), sectionRoom)},
		block{Type: "section", Text: mrkdwn("Incident `"+escape(in.IncidentID)+"`", sectionRoom)},
	)...)
}

func plainMessage(s string) []byte {
	return message(s, block{Type: "section", Text: mrkdwn(escape(s), sectionRoom)})
}

// message has the text that notifications and screen readers show, and the blocks.
func message(summary string, blocks ...block) []byte {
	doc, _ := json.Marshal(struct { // strings always have JSON
		Text   string  `json:"text"`
		Blocks []block `json:"blocks"`
	}{escape(summary), blocks})
	return doc
}

func field(name, value string) text {
	return *mrkdwn("*"+name+"*\n"+escape(cmp.Or(value, "not stated")), fieldRoom)
}

func mrkdwn(s string, room int) *text { return &text{"mrkdwn", cut(s, room)} }

// escape makes the three characters that Slack reads as markup into text, so
// that no report can mention a channel or forge a link.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// cut shortens a text to so many characters and says so.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
