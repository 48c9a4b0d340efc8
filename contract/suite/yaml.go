package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// parseYAML reads a document. A problem of its form gives no node.
func (r *reader) parseYAML(data []byte) *strictjson.Node {
	if at := unreadable(data); at >= 0 {
		before := data[:at]
		r.syntax(1+bytes.Count(before, []byte("\n")), at-bytes.LastIndexByte(before, '\n'),
			errors.New("a byte that is not UTF-8, or a control character"))
		return nil
	}
	text := &lineReader{data: data}
	dec := yaml.NewDecoder(text)
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if err == io.EOF {
			err = errors.New("there is no document")
		}
		r.syntax(max(text.line, 1), 1, err)
		return nil
	}
	n := new(strictjson.Node)
	r.yaml(n, doc.Content[0], 0)
	switch err := dec.Decode(&second); {
	case err == nil:
		r.refuse(new(strictjson.Node).At(second.Line, second.Column), "a second document", "one document")
	case err != io.EOF:
		r.syntax(text.line, 1, err)
	}
	return n
}

// A lineReader gives out one line at a time, and so knows how much of a text was needed.
type lineReader struct {
	data []byte // not read yet
	line int    // that was begun last, from 1
	rest bool   // of the line there is more
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	if !r.rest {
		r.line++
	}
	end := bytes.IndexByte(r.data, '\n') + 1
	if end == 0 {
		end = len(r.data)
	}
	n := copy(p, r.data[:end])
	r.data, r.rest = r.data[n:], n < end
	return n, nil
}

// unreadable is the offset of the first character that YAML does not have, or -1.
func unreadable(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r >= ' ' && r <= '~', r == '\t', r == '\n', r == '\r', r == '\u0085': // most are
		case r == utf8.RuneError && size == 1, r < '\u00a0', r == '\ufffe', r == '\uffff':
			return i
		}
		i += size
	}
	return -1
}

// syntax adds what keeps the document from being read at all. The library has read up to the
// line; where the mistake is, its error may say.
func (r *reader) syntax(line, column int, err error) {
	r.add(new(strictjson.Node).At(line, column), &fielderror.Error{Err: fmt.Errorf("syntax, here or before: %w", err),
		Allowed: "YAML: levels are indented by spaces, : and - have a space behind them, and texts with other signs are quoted"})
}

// yaml reads a value of YAML into a node that is in its place in the tree, and means the same in
// JSON. What YAML has besides is a problem. depth counts the lists and mappings around it.
func (r *reader) yaml(into *strictjson.Node, n *yaml.Node, depth int) {
	into.Kind = 'n'
	into.At(n.Line, n.Column)
	switch {
	case depth > strictjson.MaxDepth:
		r.refuse(into, "too deep", fmt.Sprintf("at most %d levels", strictjson.MaxDepth))
	case n.Style&yaml.TaggedStyle != 0:
		r.refuse(into, "a tag "+n.Tag, "values without a tag")
	case n.Kind == yaml.AliasNode:
		r.refuse(into, "an alias *"+n.Value, "the value, written out")
	case n.Kind == yaml.SequenceNode:
		into.Kind = '['
		for _, kid := range n.Content {
			element := new(strictjson.Node)
			into.AddElement(element)
			r.yaml(element, kid, depth+1)
		}
	case n.Kind == yaml.MappingNode:
		into.Kind = '{'
		for i := 0; i+1 < len(n.Content); i += 2 {
			r.yamlMember(into, n.Content[i], n.Content[i+1], depth+1)
		}
	case n.Kind == yaml.ScalarNode:
		r.yamlScalar(into, n)
	}
}

func (r *reader) yamlMember(into *strictjson.Node, key, kid *yaml.Node, depth int) {
	refuse := func(problem, allowed string) { r.refuse(into.Inside(key.Line, key.Column), problem, allowed) }
	switch {
	case key.Kind != yaml.ScalarNode:
		refuse("a key that is no text", "texts as keys")
	case key.Style&yaml.TaggedStyle != 0:
		refuse("a tag "+key.Tag, "keys without a tag")
	case key.ShortTag() == "!!merge":
		refuse("a merge key <<", "members written out")
	case key.ShortTag() != "!!str":
		refuse("a key that is no text: "+key.Value, "texts as keys; quote it")
	default:
		member := new(strictjson.Node)
		if !into.AddAt(key.Value, key.Line, key.Column, member) {
			refuse("a repeated key "+key.Value, "each key of a mapping once")
		}
		r.yaml(member, kid, depth)
	}
}

var (
	plainInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	plainNumber  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

func (r *reader) yamlScalar(into *strictjson.Node, n *yaml.Node) {
	into.Kind, into.Text = '"', n.Value
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&quoted != 0 {
		return
	}
	switch n.ShortTag() {
	case "!!null":
		into.Kind, into.Text = 'n', ""
	case "!!bool":
		if n.Value != "true" && n.Value != "false" {
			r.refuse(into, "a boolean written as "+n.Value, "true or false")
			return
		}
		into.Kind, into.Text = n.Value[0], ""
	case "!!int":
		if !plainInteger.MatchString(n.Value) {
			r.refuse(into, "a number written as "+n.Value, "integers in plain decimal; quote a text")
		}
		into.Kind = '0'
	case "!!float":
		if !plainNumber.MatchString(n.Value) {
			r.refuse(into, "a number written as "+n.Value, "numbers as 0.5 and 1e3; quote a text")
		}
		into.Kind = '0'
	case "!!merge":
		r.refuse(into, "a merge <<", "quote a text")
	case "!!str":
		if plainNumber.MatchString(n.Value) { // one that no float64 holds
			into.Kind = '0'
		}
	}
}
