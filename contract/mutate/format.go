package mutate

import "github.com/shakedown-go/shakedown/internal/strictjson"

// Format poisoning: the prompt in the markup of another format.

func formatRows() []row {
	return grouped("format_poisoning", Same,
		row{Kind{Name: "markdown", Weight: 1, Text: "as a page of Markdown"}, framed(
			frame{"# Request\n\n---\n\n", "\n\n---\n\n*Sent from the web form*\n"},
			frame{"## Task\n\n**Priority:** normal\n\n", "\n\n- [ ] done\n"},
			frame{"| field | value |\n|---|---|\n| channel | web |\n\n", "\n\n> end of message\n"})},
		row{Kind{Name: "html", Weight: 1.1, Text: "as a page of HTML"}, framed(
			frame{"<!DOCTYPE html>\n<html><body><p>", "</p></body></html>\n"},
			frame{"<div class=\"message\"><span>", "</span><br/></div>\n"},
			frame{"<table><tr><td>", "</td></tr></table>\n"})},
		row{Kind{Name: "json", Weight: 1.2, Text: "as a member of a JSON document"}, jsonForm},
	)
}

func jsonForm(p *prompt, d Draw) string {
	frames := [...]frame{
		{`{"type": "message", "role": "user", "content": `, `}`},
		{`[{"request": `, `, "attachments": []}]`},
		{`{"event": {"kind": "prompt", "data": {"text": `, `}}}`},
	}
	f := frames[d.oneOf(len(frames))]
	return f.before + string(strictjson.Quote(p.raw)) + f.after
}
