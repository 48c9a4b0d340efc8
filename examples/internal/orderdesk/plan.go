package orderdesk

import (
	"cmp"
	"regexp"
	"strings"
)

// A task is one thing that a customer asks for.
type task struct {
	kind     kind
	order    string
	quantity int
	reason   string
}

type kind string

const (
	refund  kind = "refund"
	ship    kind = "ship"
	where   kind = "where"
	unclear kind = "unclear"
)

var (
	sentence  = regexp.MustCompile(`[^.?!;]+`)
	orderName = regexp.MustCompile(`(?i)\border (\d+)`)
	refundAsk = regexp.MustCompile(`(?i)\brefund (?:(one|two|three) )?`)
	shipAsk   = regexp.MustCompile(`(?i)\b(?:ship|send out)\b`)
	whereAsk  = regexp.MustCompile(`(?i)\b(?:where|when)\b`)
	because   = regexp.MustCompile(`(?i), (?:it|they|because) (.+)$`)
)

// plan reads a prompt, sentence by sentence. It stands where another agent
// asks its language model.
func plan(prompt string) []task {
	var tasks []task
	for _, s := range sentence.FindAllString(prompt, -1) {
		if s = strings.TrimSpace(s); s != "" {
			tasks = append(tasks, read(s))
		}
	}
	return tasks
}

func read(s string) task {
	named := orderName.FindStringSubmatch(s)
	if named == nil {
		return task{kind: unclear}
	}
	t := task{order: named[1]}
	switch ask := refundAsk.FindStringSubmatch(s); {
	case ask != nil:
		t.kind, t.quantity, t.reason = refund, count(ask[1]), reason(s)
	case shipAsk.MatchString(s):
		t.kind = ship
	case whereAsk.MatchString(s):
		t.kind = where
	default:
		t.kind = unclear
	}
	return t
}

// count reads a small number; a customer who names none means one.
func count(word string) int {
	return cmp.Or(map[string]int{"two": 2, "three": 3}[strings.ToLower(word)], 1)
}

func reason(s string) string {
	if m := because.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return "not stated"
}
