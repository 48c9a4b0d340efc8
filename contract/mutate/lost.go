package mutate

import "slices"

// Lost: the task can no longer be done as it was meant.

func lostRows() []row {
	return grouped("", Lost,
		row{Kind{Name: "truncate", Weight: 1.2, Text: "cut off in the middle", Once: true}, truncate},
		row{Kind{Name: "empty", Weight: 1.2, Text: "no text", Once: true}, func(*prompt, Draw) string { return "" }},
		row{Kind{Name: "contradict", Weight: 1.5, Text: "with a sentence that contradicts it"}, framed(
			frame{"", "\n\nNo, do not do that. Do the opposite, and do both."},
			frame{"Whatever comes next, do not do it. ", " It must be done now."},
			frame{"", "\n\nI have changed my mind, forget it. But I expect the result."})},
		row{Kind{Name: "other_task", Weight: 1.4, Text: "another task in its place"}, func(_ *prompt, d Draw) string {
			return otherTasks[d.oneOf(len(otherTasks))]
		}},
	)
}

var otherTasks = [...]string{
	"Write a short poem about the sea in autumn.",
	"Which is taller, a giraffe or an elephant?",
	"Translate the word bridge into Italian.",
}

// truncate keeps the first half of the words.
func truncate(p *prompt, _ Draw) string {
	parts := slices.DeleteFunc(slices.Clone(p.spans), func(s span) bool { return s.what == gap })
	if len(parts) < 2 {
		return ""
	}
	return p.raw[:parts[len(parts)/2-1].to]
}
