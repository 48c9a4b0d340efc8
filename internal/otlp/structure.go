package otlp

import (
	"bytes"
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// structure returns a kvlistValue as an object, or an arrayValue as a list. The text is
// read once, however deep it is. Of two members of one name the last counts.
func structure(raw []byte, kind jsonedit.Kind) json.RawMessage {
	d, ok := jsonedit.Parse(raw)
	if !ok {
		return nil
	}
	var b bytes.Buffer
	(&writer{d, &b}).list(0, kind)
	return bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))
}

type writer struct {
	*jsonedit.Doc
	out *bytes.Buffer
}

// list writes the values of a kvlistValue or of an arrayValue.
func (w *writer) list(at int, kind jsonedit.Kind) {
	var elements []int
	if values, ok := w.Member(at, "values"); ok && w.Kind(values) == jsonedit.Array {
		elements = w.Children(values)
	}
	if kind == jsonedit.Array {
		w.out.WriteByte('[')
		for i, e := range elements {
			w.comma(i)
			w.value(e)
		}
		w.out.WriteByte(']')
		return
	}
	last := make(map[string]int, len(elements))
	for _, e := range elements {
		last[w.key(e)] = e
	}
	written := 0
	w.out.WriteByte('{')
	for _, e := range elements {
		key := w.key(e)
		if last[key] != e {
			continue
		}
		w.comma(written)
		written++
		w.out.Write(jsonedit.Quote(key))
		w.out.WriteByte(':')
		if v, ok := w.Member(e, "value"); ok {
			w.value(v)
		} else {
			w.out.WriteString("null")
		}
	}
	w.out.WriteByte('}')
}

func (w *writer) key(at int) string {
	if key, ok := w.Member(at, "key"); ok {
		return w.String(key)
	}
	return ""
}

func (w *writer) comma(before int) {
	if before > 0 {
		w.out.WriteByte(',')
	}
}

// value writes what a value has in the first of its members; null: it has none.
func (w *writer) value(at int) {
	if w.Kind(at) == jsonedit.Object && w.Nodes[at].Next > int32(at)+1 {
		member := at + 1
		raw := w.Raw(member)
		switch w.Name(member) {
		case "stringValue", "boolValue", "doubleValue", "bytesValue":
			w.out.Write(raw)
			return
		case "intValue": // a number, or the text of one
			if text := []byte(w.String(member)); json.Valid(text) {
				raw = text
			}
			w.out.Write(raw)
			return
		case "kvlistValue":
			w.list(member, jsonedit.Object)
			return
		case "arrayValue":
			w.list(member, jsonedit.Array)
			return
		}
	}
	w.out.WriteString("null")
}
