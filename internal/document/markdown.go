package document

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// reserve is kept for the sentences that say what was left out.
	reserve = 512
	// commentText bounds one text of an agent, since many share a comment, and commentLine a line.
	commentText = 2 << 10
	commentLine = 1000
)

// Markdown returns the document as a comment of at most so many bytes, in GitHub's dialect. Parts
// that do not fit are left out, and the text says so. Texts are escaped, and those of an agent
// put in <pre> elements, so that they format, link, mention and embed nothing.
func (d *Document) Markdown(most int) []byte {
	c := &comment{room: most - reserve}
	if v := d.Verdict; v != nil {
		c.add(fmt.Sprintf("## %s %s: %s\n\n%s\n\n", v.Sign.Emoji, v.Name, prose(Clip(d.Title, 200)),
			prose(Clip(v.Why, 900))))
	}
	for _, s := range d.Sections {
		c.section(s)
	}
	return c.Bytes()
}

// A comment takes parts as long as they fit.
type comment struct {
	bytes.Buffer
	room int
}

func (c *comment) add(part string) bool {
	if c.Len()+len(part) > c.room {
		return false
	}
	c.WriteString(part)
	return true
}

func (c *comment) section(s *Section) {
	if s.Intro != "" {
		c.add(fmt.Sprintf("**%s** %s\n\n", strings.ToLower(s.Head), prose(Clip(s.Intro, commentLine))))
	}
	if s.Table != nil && len(s.Table.Rows) > 0 && !c.add(tableText(s)) {
		c.add("The table of " + s.Name + " does not fit here.\n\n")
	}
	var facts strings.Builder
	for _, f := range s.Facts {
		fmt.Fprintf(&facts, "- **%s** %s\n", f.Label, prose(Clip(f.Text, commentLine)))
	}
	if facts.Len() > 0 {
		c.add(facts.String() + "\n")
	}
	items, more := s.shown()
	for i := range items {
		part := itemText(&items[i])
		if i == len(items)-1 && len(items[i].Details) == 0 {
			part += "\n"
		}
		if !c.add(part) {
			more += len(items) - i
			break
		}
	}
	if more > 0 {
		fmt.Fprintf(c, "\n… and %d more %s.\n\n", more, s.Name)
	}
}

func tableText(s *Section) string {
	t := s.Table
	var b strings.Builder
	b.WriteString("| |")
	for _, h := range t.Heads {
		b.WriteString(" " + code(h.Name))
		if h.Below != "" {
			b.WriteString("<br>" + h.Below)
		}
		b.WriteString(" |")
	}
	b.WriteString("\n|:--|" + strings.Repeat(":-:|", len(t.Heads)) + "\n")
	for _, row := range t.Rows {
		b.WriteString("| " + code(row.Name) + " |")
		for i := range row.Cells {
			b.WriteString(" " + row.Cells[i].in(" ", func(s *Sign) string { return s.Emoji }) + " |")
		}
		b.WriteString("\n")
	}
	var legend []string
	for _, s := range t.Legend {
		legend = append(legend, s.Emoji+" "+s.Meaning)
	}
	hints := t.Hints
	if len(legend) > 0 {
		hints = append([]string{strings.Join(legend, " · ")}, hints...)
	}
	fmt.Fprintf(&b, "\n<sub>%s</sub>\n\n", strings.Join(hints, "<br>"))
	return b.String()
}

// itemText is a point of a list, or a folded part if the item has details.
func itemText(i *Item) string {
	lead := ""
	switch {
	case i.Sign != nil:
		lead = i.Sign.Emoji + " "
	case i.Lead != "":
		lead = "<b>" + strings.TrimSpace(i.Lead) + "</b> "
	}
	head := lead + i.head(code) + prose(Clip(i.Text, commentLine))
	if len(i.Details) == 0 {
		return "- " + head + "\n"
	}
	if i.Brief != "" {
		head += " → " + prose(Clip(i.Brief, commentLine))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details>\n<summary>%s</summary>\n\n", head)
	for k := range i.Details {
		d := &i.Details[k]
		if d.empty() {
			continue
		}
		lines := make([]string, 0, len(d.List)+1)
		for _, line := range d.List {
			lines = append(lines, Clip(line, commentLine/2))
		}
		switch {
		case d.Text == "":
		case d.Kind == Command:
			lines = append(lines, Clean(d.Text))
		default:
			lines = append(lines, Block(d.Text, commentText))
		}
		fmt.Fprintf(&b, "<b>%s</b>\n\n<pre>%s</pre>\n\n", d.label(), escape(strings.Join(lines, "\n")))
	}
	return b.String() + "</details>\n\n"
}

// code is a name in a <code> element. One with other signs than names have is prose.
func code(name string) string {
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return prose(Clip(name, 2*maxName))
		}
	}
	return "<code>" + Clip(name, 2*maxName) + "</code>"
}

// escape returns text for a <pre> element, with every character escaped that has a
// meaning in HTML or Markdown.
func escape(s string) string {
	return entities(s, func(r rune, _ string) (string, bool) {
		return "", strings.ContainsRune("@#:", r)
	})
}

// prose returns one line of text for use outside such an element. GitHub finds
// mentions, references and addresses after it has resolved entities. So an
// invisible space (U+200B) after the first sign prevents them, and an entity does
// not.
func prose(s string) string {
	return entities(Clean(s), func(r rune, rest string) (string, bool) {
		const space = "&#8203;"
		return space, strings.ContainsRune("@#", r) || r == ':' && strings.HasPrefix(rest, "//") ||
			r == 'w' && strings.HasPrefix(rest, "ww.")
	})
}

// entities writes characters as entities: those with a meaning anywhere, and those
// for which special reports true, followed by what it returns.
func entities(s string, special func(r rune, rest string) (behind string, yes bool)) string {
	var b strings.Builder
	for i, r := range s {
		behind, yes := special(r, s[i+utf8.RuneLen(r):])
		switch {
		case yes:
			fmt.Fprintf(&b, "&#%d;%s", r, behind)
		case strings.ContainsRune("<>&`|*_~[]\\$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
