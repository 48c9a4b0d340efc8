package redact

import (
	"bytes"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Pieces takes the secrets out of a stream of JSON documents, one a line, that says texts in
// pieces: no piece need look like a part of a secret. The lines may be those of server-sent
// events, and parts are any pieces of the stream that end where lines end. The texts at one
// path are one text, except those of elements with different numbers, as a member "index"
// gives them. The first piece becomes all of a text with a secret, and the others are empty.
//
// A secret that one piece holds is left for [Redactor.Text]. So is a text that is the same
// in all documents, such as an id: it is no piece.
//
// It returns parts itself if nothing was found, and does not change the elements.
func (r *Redactor) Pieces(parts [][]byte) [][]byte {
	s := spread{texts: map[string][]piece{}, edits: map[int][]jsonedit.Edit{}}
	for i, part := range parts {
		for line := range bytes.Lines(part) {
			s.add(i, line)
		}
	}
	for _, all := range s.texts {
		s.redact(r, all)
	}
	if len(s.edits) == 0 {
		return parts
	}
	clean := make([][]byte, len(parts))
	for i, l := range s.lines {
		line := l.line
		if edits := s.edits[i]; len(edits) > 0 {
			line = append(bytes.Clone(line[:len(line)-len(l.doc.Text)]), l.doc.Apply(edits...)...)
		}
		clean[l.part] = append(clean[l.part], line...)
	}
	return clean
}

// spread is a stream whose lines were read.
type spread struct {
	lines []streamLine
	texts map[string][]piece      // by where they stand
	edits map[int][]jsonedit.Edit // by line
}

// A streamLine is a line of a part, and the document that it ends with, nil if there is none.
type streamLine struct {
	part int
	line []byte
	doc  *jsonedit.Doc
}

// A piece is a text of a document.
type piece struct {
	line, node int
	text       string
}

func (s *spread) add(part int, line []byte) {
	own := streamLine{part: part, line: line}
	if at := bytes.IndexAny(line, `{["`); at >= 0 {
		if doc, ok := jsonedit.Parse(line[at:]); ok {
			own.doc = doc
			numbers := make(map[int]string)
			for n := range doc.Nodes {
				if doc.Kind(n) == jsonedit.String {
					where := doc.Path(n) + numbersAround(doc, int(doc.Nodes[n].Parent), numbers)
					s.texts[where] = append(s.texts[where], piece{len(s.lines), n, doc.String(n)})
				}
			}
		}
	}
	s.lines = append(s.lines, own)
}

// numbersAround are the numbers that an object and those around it have: element 0 of a list
// may be another in each document. known has those that were looked up.
func numbersAround(d *jsonedit.Doc, n int, known map[int]string) string {
	if n < 0 {
		return ""
	}
	all, seen := known[n]
	if !seen {
		for _, name := range []string{"index", "output_index", "content_index"} {
			if at, ok := d.Member(n, name); ok && d.Kind(at) == jsonedit.Number {
				all += " " + string(d.Raw(at))
			}
		}
		all += numbersAround(d, int(d.Nodes[n].Parent), known)
		known[n] = all
	}
	return all
}

// redact redacts the text that all its pieces are.
func (s *spread) redact(r *Redactor, all []piece) {
	var whole, apart strings.Builder
	same := true
	for _, p := range all {
		whole.WriteString(p.text)
		same = same && p.text == all[0].text
	}
	text := whole.String()
	clean := r.Text(text)
	if same || clean == text {
		return
	}
	for _, p := range all {
		apart.WriteString(r.Text(p.text))
	}
	if clean == apart.String() {
		return
	}
	for _, p := range all {
		s.edits[p.line] = append(s.edits[p.line], s.lines[p.line].doc.Replace(p.node, jsonedit.Quote(clean)))
		clean = ""
	}
}
