package dialect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"
)

// A step is a call of the incident that every dialect tells.
type step struct {
	ID, Tool, Args string
	Result         string // what it returned, or what an error in words says
	Failure        string
	Begin, End     time.Duration
}

// An incident is one run of an agent.
type incident struct {
	Trace, Prompt, Answer string
	Steps                 []step
	End                   time.Duration
	cut
}

// A cut is what the record of an incident lacks.
type cut struct {
	Withheld  bool // content was not captured
	Truncated bool // results were cut off
	Orphans   bool // the step that encloses all is not there
	Twice     bool // all was exported twice
	InWords   bool // failures are results that tell of them
	Unended   bool // the last call has no end
}

var began = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// refundTwice is the incident: the time-out came after the work.
func refundTwice() incident {
	return incident{
		Trace: "4bf92f3577b34da6a3ce929d0e0e4736", Prompt: "Refund order 1042", Answer: "Refunded.", End: 32 * time.Second,
		Steps: []step{
			{"c1", "lookup_order", `{"order":1042}`, `{"state":"delivered","total":19.9}`, "", 200 * time.Millisecond, 300 * time.Millisecond},
			{"c2", "refund", `{"order":1042}`, "", "i/o timeout", 1200 * time.Millisecond, 31200 * time.Millisecond},
			{"c3", "refund", `{"order":1042}`, `{"id":"R-2"}`, "", 31500 * time.Millisecond, 31512 * time.Millisecond},
		},
	}
}

// inParallel asks for two orders at once, and for a third afterwards.
func inParallel() incident {
	in := refundTwice()
	in.Steps = []step{
		{"c1", "lookup_order", `{"order":1}`, `{"total":1}`, "", 100 * time.Millisecond, 400 * time.Millisecond},
		{"c2", "lookup_order", `{"order":2}`, `{"total":2}`, "", 200 * time.Millisecond, 300 * time.Millisecond},
		{"c3", "lookup_order", `{"order":3}`, `{"total":3}`, "", 400 * time.Millisecond, 500 * time.Millisecond},
	}
	return in
}

// Said is the answer of a step, or the error in words, cut off if need be.
func (in *incident) Said(s step) string {
	text := s.Result
	if s.Failure != "" {
		text = "Error: " + s.Failure
	}
	if in.Truncated && s.Failure == "" {
		text = text[:len(text)-2]
	}
	return text
}

// Fails reports whether a step has an error that is no result.
func (in *incident) Fails(s step) bool { return s.Failure != "" && !in.InWords }

// Ended reports whether the end of a step was recorded.
func (in *incident) Ended(i int) bool { return !in.Unended || i < len(in.Steps)-1 }

// A teller writes an incident in a dialect: the elements of its template, and what stands around them.
type teller struct {
	name, dialect string
	template      string
	around        func(in *incident, elements []any) string
}

func tellers() []teller {
	spans := func(scope string) func(in *incident, spans []any) string {
		return func(in *incident, spans []any) string {
			return text(object{"resourceSpans": []any{object{"resource": object{"attributes": attributes("service.name", "desk")},
				"scopeSpans": []any{object{"scope": object{"name": scope}, "spans": in.exported(spans)}}}}})
		}
	}
	return []teller{
		{"gen_ai", "otlp", "otlp", spans("example")},
		{"OpenInference", "otlp", "otlp", spans("openinference.instrumentation.example")},
		{"Traceloop", "otlp", "otlp", spans("opentelemetry.instrumentation.example")},
		{"ADK", "otlp", "otlp", spans("gcp.vertex.agent")},
		{"langfuse", "langfuse", "langfuse", func(in *incident, observations []any) string {
			trace := object{"id": in.Trace, "timestamp": iso(0), "name": "desk", "input": in.Prompt, "output": in.Answer,
				"observations": in.exported(observations)}
			if in.Withheld {
				trace["input"], trace["output"] = nil, nil
			}
			return text(trace)
		}},
		{"langsmith", "langsmith", "langsmith", func(in *incident, runs []any) string {
			switch root := runs[0].(object); {
			case in.Orphans:
				return in.lines(runs[1:]...)
			case in.Twice:
				return in.lines(append(runs[1:], root)...)
			default:
				root["child_runs"] = runs[1:]
				return text([]any{root})
			}
		}},
		{"openai-agents", "openai-agents", "openai-agents", func(in *incident, spans []any) string {
			trace := object{"object": "trace", "id": in.Trace, "workflow_name": "desk"}
			return text(object{"data": in.exported(append([]any{trace}, spans...))})
		}},
		{"chat", "chat", "chat", conversation("messages", 2, func(messages []any) any { return object{"messages": messages} })},
		{"responses", "responses", "responses", conversation("input", 3, func(items []any) any {
			slices.Reverse(items) // as the API lists them
			return object{"object": "list", "data": items}
		})},
		{"anthropic", "anthropic", "anthropic", conversation("messages", 3, func(messages []any) any { return object{"messages": messages} })},
		{"mcp", "mcp", "mcp", inOrder},
		{"mcp-proxy", "mcp-proxy", "mcp-proxy", inOrder},
	}
}

// exported are the elements of an export, each twice if the record has everything twice.
func (in *incident) exported(elements []any) []any {
	if in.Twice {
		return slices.Concat(elements, elements)
	}
	return elements
}

// conversation has its messages in one document, or in a log of requests: the first has so many, each other two more.
func conversation(member string, first int, whole func(messages []any) any) func(*incident, []any) string {
	return func(in *incident, messages []any) string {
		if !in.Twice {
			return text(whole(messages))
		}
		var log []any
		for n := first; n < len(messages); n += 2 {
			log = append(log, object{member: messages[:n]})
		}
		return in.lines(append(log, object{member: messages})...)
	}
}

// inOrder writes lines in the order of their times.
func inOrder(in *incident, lines []any) string {
	moment := func(line any) string {
		if stamp, is := line.(object)["timestamp"].(string); is {
			return stamp
		}
		return fmt.Sprintf("%9.3f", line.(object)["t"])
	}
	slices.SortStableFunc(lines, func(a, b any) int { return strings.Compare(moment(a), moment(b)) })
	return in.lines(lines...)
}

// lastComma is a comma behind the last element, which JSON does not allow.
var lastComma = regexp.MustCompile(`,\s*\]`)

func (tell *teller) tell(in *incident) string {
	t := template.New("").Option("missingkey=error")
	execute := func(name string, data any) string {
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, name, data); err != nil {
			panic(err)
		}
		return b.String()
	}
	t = template.Must(t.Funcs(template.FuncMap{
		"json": compact,
		"parsed": func(s string) string {
			if json.Valid([]byte(s)) {
				return s
			}
			return compact(s)
		},
		"message": func(role, said string) string {
			return compact([]any{object{"role": role, "parts": []any{object{"type": "text", "content": said}}}})
		},
		"kept": func(instead, v string) string { // what a vendor writes for content that was withheld
			if in.Withheld {
				return instead
			}
			return v
		},
		"id":       func(i int) string { return fmt.Sprintf("%016x", 10+i) },
		"number":   func(i int) int { return i + 1 },
		"nano":     func(d time.Duration) int64 { return began.Add(d).UnixNano() },
		"iso":      iso,
		"zoneless": func(d time.Duration) string { return strings.TrimSuffix(iso(d), "Z") },
		"attributes": func(of string, i int) string { // of a span, or of the i-th step
			data := struct {
				*incident
				Step   step
				Result string
			}{incident: in}
			if i >= 0 {
				if data.Step = in.Steps[i]; in.Ended(i) && !in.Fails(data.Step) {
					data.Result = in.Said(data.Step)
				}
			}
			var pairs []string
			for line := range strings.Lines(execute(tell.name+"/"+of, data)) {
				if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key != "" {
					pairs = append(pairs, key, value)
				}
			}
			return compact(attributes(pairs...))
		},
	}).ParseFiles("testdata/incident.tmpl"))
	var elements []any
	if doc := lastComma.ReplaceAllString(execute(tell.template, in), "]"); json.Unmarshal([]byte(doc), &elements) != nil {
		panic(doc)
	}
	return tell.around(in, elements)
}

type object = map[string]any

// text is a value as JSON in lines.
func text(v any) string {
	var b bytes.Buffer
	_ = json.Indent(&b, []byte(compact(v)), "", " ")
	return b.String() + "\n"
}

// compact is a value as JSON on one line.
func compact(v any) string {
	doc, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(doc)
}

// lines are values as JSON lines, each twice if the record has everything twice.
func (in *incident) lines(values ...any) string {
	var b strings.Builder
	for _, v := range values {
		line := compact(v) + "\n"
		if b.WriteString(line); in.Twice {
			b.WriteString(line)
		}
	}
	return b.String()
}

// attributes are pairs of key and text, without those whose text is empty.
func attributes(pairs ...string) []any {
	list := []any{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, object{"key": pairs[i], "value": object{"stringValue": pairs[i+1]}})
		}
	}
	return list
}

func iso(d time.Duration) string { return began.Add(d).Format("2006-01-02T15:04:05.000Z") }
