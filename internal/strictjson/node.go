package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A Node is a value of a document. It comes from [Parse].
type Node = jsonedit.Value

// MaxDepth is the number of objects and lists that may lie within each other.
const MaxDepth = 64

// Parse reads a whole document of at most maxBytes. A syntax error ends it, and
// there is no node then; members that occur twice are collected.
func Parse(data []byte, maxBytes int, p *Problems) *Node {
	if len(data) > maxBytes {
		p.Add(&Problem{Reason: TooLarge, Value: fmt.Sprintf("%d bytes", len(data)),
			Allowed: fmt.Sprintf("at most %d", maxBytes)})
		return nil
	}
	if !utf8.Valid(data) {
		rest := data
		for r, n := utf8.DecodeRune(rest); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(rest) {
			rest = rest[n:]
		}
		problem := &Problem{Reason: Syntax, Err: errors.New("the document is not UTF-8")}
		problem.Line, problem.Column = place(data, len(data)-len(rest))
		p.Add(problem)
		return nil
	}
	d, ok := jsonedit.Parse(data)
	if !ok {
		var whole json.RawMessage
		p.Add(syntax(data, json.Unmarshal(data, &whole)))
		return nil
	}
	p.data = data
	depth := make([]int32, len(d.Nodes))
	for i, n := range d.Nodes {
		if n.Parent >= 0 {
			depth[i] = depth[n.Parent] + 1
		}
		isScalar := d.Kind(i) != jsonedit.Object && d.Kind(i) != jsonedit.Array
		if depth[i] != MaxDepth || isScalar || p.skips(d, i) {
			continue
		}
		p.refuseAt(d, i, int(n.Start), &Problem{Reason: TooLarge, Value: "depth",
			Allowed: fmt.Sprintf("at most %d levels", MaxDepth)})
		return nil
	}
	for _, i := range d.Repeated() {
		if !p.Full() && !p.skips(d, int(d.Nodes[i].Parent)) {
			p.refuseAt(d, i, int(d.Nodes[i].NameStart), &Problem{Reason: Duplicate,
				Allowed: "each member of an object once"})
		}
	}
	return d.Value()
}

// syntax is a syntax error with its line and column.
func syntax(data []byte, err error) *Problem {
	if err == nil {
		err = errors.New("the document is not JSON")
	}
	p := &Problem{Reason: Syntax, Err: err}
	var at *json.SyntaxError
	if errors.As(err, &at) && at.Offset >= 0 && at.Offset <= int64(len(data)) {
		p.Line, p.Column = place(data, int(at.Offset)-1)
	}
	return p
}

// skips reports whether a value, or one that it lies within, is opaque.
func (p *Problems) skips(d *jsonedit.Doc, i int) bool {
	if p.Opaque == nil {
		return false
	}
	path := d.Keys(i)
	for end := range len(path) + 1 {
		if p.Opaque(path[:end]) {
			return true
		}
	}
	return false
}

// refuseAt adds a problem of a value, in a place of the text.
func (p *Problems) refuseAt(d *jsonedit.Doc, i, at int, found *Problem) {
	for _, key := range d.Keys(i) {
		found.Pointer = jsonedit.Join(found.Pointer, key)
	}
	found.Line, found.Column = p.placeIn(d.Text, at)
	p.Add(found)
}

// Empty reports whether a value means the same as leaving it out.
func Empty(n *Node) bool {
	switch n.Kind() {
	case jsonedit.Number:
		f, _ := strconv.ParseFloat(string(n.Bytes()), 64)
		return f == 0
	case jsonedit.String:
		d, err := time.ParseDuration(n.String())
		return n.String() == "" || err == nil && d == 0
	case jsonedit.Bool:
		return string(n.Bytes()) == "false"
	}
	return n.Len() == 0
}
