// Package blame finds which of several successive changes of a value can be seen in the end. A change is the difference
// between two versions of the value. It cannot be seen if later changes replaced all that it wrote.
//
// A value is a JSON document or any other text. Its places are compared one by one: the members and elements of a
// document, and the bytes of a string. So changes of two members are both seen, and so is a text to which a later
// change only adds.
package blame

import (
	"bytes"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// maxPlaces bounds the places of one change. A change of more places counts as a change of the whole value.
const maxPlaces = 1024

// separator precedes each name and index of a place. The whole document is the empty place.
const separator = "\x00"

// Seen reports for each change whether it can be seen at the end: values[0] is the
// first value, values[k] what change k-1 made of it. Neighbouring values, and the
// first and the last, differ for the caller unless they are the same text. If no
// place shows the difference, such as in the spelling of a number, the whole
// differs. A change that later ones undid is not seen. No change is seen if the last
// value equals the first.
func Seen(values [][]byte) []bool {
	if disjointScalars(values) {
		return slices.Repeat([]bool{true}, len(values)-1)
	}
	return byPlace(values)
}

// byPlace is Seen by comparing all places.
func byPlace(values [][]byte) []bool {
	seen := make([]bool, len(values)-1)
	docs := parsed(values)
	var marks []mark
	for k := range seen {
		for _, d := range docs.between(k, k+1) {
			marks = d.over(marks, k)
		}
	}
	ends := docs.between(0, len(values)-1)
	for _, m := range marks {
		for _, d := range ends {
			seen[m.change] = seen[m.change] || m.place == d.place || below(m.place, d.place) || below(d.place, m.place)
		}
	}
	return seen
}

// mark is what a change wrote: all of a place, or the bytes from lo to before hi of a string.
type mark struct {
	change int
	place  string
	part   bool // lo and hi count
	lo, hi int
}

// difference is a place where two values differ.
type difference struct {
	place    string
	text     bool // both values have a string there: from and to
	from, to string
}

// below reports whether a place is part of another.
func below(place, of string) bool {
	return len(place) > len(of) && place[:len(of)] == of && place[len(of):len(of)+1] == separator
}

// over adds the mark of a change that made the difference. It removes earlier marks in the same place, but those in
// other parts of a string stay.
func (d *difference) over(marks []mark, change int) []mark {
	from, to := d.from, d.to
	prefix := Common([]byte(from), []byte(to))
	suffix := commonEnd([]byte(from[prefix:]), []byte(to[prefix:]))
	cut, end := prefix, len(from)-suffix // of the old string
	kept := marks[:0]
	for _, m := range marks {
		switch {
		case below(m.place, d.place), m.place == d.place && !(d.text && m.part):
			continue
		case m.place != d.place || m.hi <= cut && !(m.lo == m.hi && m.lo == cut && cut < end):
		case m.lo >= end && !(m.lo == m.hi && m.lo == end && cut < end):
			m.lo, m.hi = m.lo+len(to)-len(from), m.hi+len(to)-len(from)
		default:
			continue
		}
		kept = append(kept, m)
	}
	m := mark{change: change, place: d.place}
	if d.text {
		m.part, m.lo, m.hi = true, prefix, len(to)-suffix
	}
	return append(kept, m)
}

func commonEnd(a, b []byte) (n int) {
	const step = 64
	for n+step <= min(len(a), len(b)) && bytes.Equal(a[len(a)-n-step:len(a)-n], b[len(b)-n-step:len(b)-n]) {
		n += step
	}
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// values are texts and, if all of them are JSON, their documents.
type values struct {
	texts [][]byte
	docs  []*jsonedit.Doc // nil: not all texts are JSON
}

func parsed(texts [][]byte) values {
	v := values{texts: texts, docs: make([]*jsonedit.Doc, len(texts))}
	for i, text := range texts {
		doc, ok := jsonedit.Parse(text)
		if !ok {
			v.docs = nil
			return v
		}
		v.docs[i] = doc
	}
	return v
}

// between lists the places in which two of the values differ.
func (v values) between(i, k int) []difference {
	if bytes.Equal(v.texts[i], v.texts[k]) {
		return nil
	}
	if v.docs == nil {
		return []difference{{text: true, from: string(v.texts[i]), to: string(v.texts[k])}}
	}
	a, b := v.docs[i], v.docs[k]
	var found []difference
	for at := range jsonedit.Differences(a, b, same) {
		if len(found) == maxPlaces {
			return []difference{{}}
		}
		d := difference{place: strings.Join(append([]string{""}, at.At...), separator)}
		if at.A >= 0 && at.B >= 0 && a.Kind(at.A) == jsonedit.String && b.Kind(at.B) == jsonedit.String {
			d.text, d.from, d.to = true, a.String(at.A), b.String(at.B)
		}
		found = append(found, d)
	}
	if len(found) == 0 {
		return []difference{{}}
	}
	return found
}

// same compares texts by their bytes, which are what callers get, and other scalars by value.
func same(x, y []byte) bool {
	if x[0] == '"' {
		return jsonedit.Unquote(x) == jsonedit.Unquote(y)
	}
	return jsonhash.Sum(x) == jsonhash.Sum(y)
}
