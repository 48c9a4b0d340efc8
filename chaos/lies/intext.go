package lies

import (
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// InText applies a lie to a document within a text, as the tools of MCP servers
// return it: {"content":[{"type":"text","text":"{\"total\":19.90}"}]}. f is a
// lie of this package that looks at one result alone, not one that remembers;
// its own paths begin in the inner document. The paths here name texts that
// hold a JSON object or list; without them one is drawn.
func InText(f chaos.Fault, paths ...string) chaos.Fault {
	inner, _ := f.(*lie)
	l := lie{kind: "lie_in_text", class: chaos.ClassValue, wants: "text with JSON", rank: holdsJSON,
		check: func(c *param.Check) {
			c.That(inner != nil, "fault", fmt.Sprintf("%T", f), "a lie about one result")
			c.Part("fault", f)
		},
		apply: func(e *edit, i int) bool {
			d, ok := jsonedit.Parse([]byte(e.doc.String(i)))
			if !ok || inner == nil {
				return false
			}
			within := &edit{call: e.call, doc: d}
			inner.applyTo(within)
			return len(within.changes) > 0 && e.replace(i, jsonedit.Quote(string(within.text())))
		}}
	if inner != nil {
		d := inner.Describe()
		l.class, l.layer = d.Class, d.Layer
		l.params = map[string]any{"fault": chaos.Description{Kind: d.Kind, Params: d.Params}}
	}
	return l.at(paths)
}

// holdsJSON reports whether a text is an object or a list.
func holdsJSON(e *edit, i int) int {
	if e.doc.Kind(i) != jsonedit.String {
		return 0
	}
	d, ok := jsonedit.Parse([]byte(e.doc.String(i)))
	if !ok || isScalar(d.Kind(0)) {
		return 0
	}
	return 1
}
