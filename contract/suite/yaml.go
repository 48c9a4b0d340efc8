package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// maxAliased is the number of values that the aliases of a document may stand for, since
// a few lines of aliases can stand for billions.
const maxAliased = 10_000

// A yamlReader makes nodes of a YAML document that mean the same in JSON. What YAML has
// besides is a problem.
type yamlReader struct {
	r       *reader
	aliased int  // values that aliases stood for so far
	within  int  // aliases around the value that is read
	depth   int  // lists and mappings around it
	broken  bool // reading stopped
}

// parseYAML reads a document. A problem of its form gives no node.
func (r *reader) parseYAML(data []byte) *strictjson.Node {
	y := &yamlReader{r: r}
	if at := unreadable(data); at >= 0 {
		before := data[:at]
		y.syntax(1+bytes.Count(before, []byte("\n")), at-bytes.LastIndexByte(before, '\n'),
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
		y.syntax(max(text.line, 1), 1, err)
		return nil
	}
	n := new(strictjson.Node)
	y.value(n, doc.Content[0], doc.Content[0])
	switch err := dec.Decode(&second); {
	case err == nil:
		r.refuse(new(strictjson.Node).At(second.Line, second.Column), "a second document", "one document")
	case err != io.EOF:
		y.syntax(text.line, 1, err)
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
func (y *yamlReader) syntax(line, column int, err error) {
	y.r.add(new(strictjson.Node).At(line, column), &Error{Problem: "syntax, here or before", Err: err,
		Allowed: "YAML: levels are indented by spaces, : and - have a space behind them, and texts with other signs are quoted"})
}

// value reads a value into a node that is in its place in the tree. place is the value that
// stands there in the text: the outermost alias, if there are any.
func (y *yamlReader) value(into *strictjson.Node, n, place *yaml.Node) {
	into.Kind = 'n'
	into.At(place.Line, place.Column)
	if y.within > 0 {
		y.aliased++
	}
	switch {
	case y.broken:
		return
	case y.aliased > maxAliased:
		y.stop(into, "too large", fmt.Sprintf("aliases that stand for at most %d values", maxAliased))
		return
	case y.depth > strictjson.MaxDepth:
		y.stop(into, "too deep", fmt.Sprintf("at most %d levels", strictjson.MaxDepth))
		return
	case n.Style&yaml.TaggedStyle != 0:
		y.r.refuse(into, "a tag "+n.Tag, "values without a tag")
		return
	}
	inner := func(kid *yaml.Node) *yaml.Node {
		if y.within > 0 {
			return place
		}
		return kid
	}
	y.depth++
	defer func() { y.depth-- }()
	switch n.Kind {
	case yaml.AliasNode:
		y.within++
		y.value(into, n.Alias, place)
		y.within--
	case yaml.SequenceNode:
		into.Kind = '['
		for _, kid := range n.Content {
			element := new(strictjson.Node)
			into.AddElement(element)
			y.value(element, kid, inner(kid))
		}
	case yaml.MappingNode:
		into.Kind = '{'
		for i := 0; i+1 < len(n.Content) && !y.broken; i += 2 {
			y.member(into, n.Content[i], n.Content[i+1], inner)
		}
	case yaml.ScalarNode:
		y.scalar(into, n)
	}
}

// member adds a member to an object.
func (y *yamlReader) member(into *strictjson.Node, key, kid *yaml.Node, place func(*yaml.Node) *yaml.Node) {
	at := place(key)
	refuse := func(problem, allowed string) {
		y.r.refuse(into.Inside(at.Line, at.Column), problem, allowed)
	}
	switch {
	case key.Kind != yaml.ScalarNode:
		refuse("a key that is no text", "texts as keys")
	case key.Style&yaml.TaggedStyle != 0:
		refuse("a tag "+key.Tag, "keys without a tag")
	case key.ShortTag() == "!!merge":
		refuse("a merge key <<", "members written out, or one alias for all of them")
	case key.ShortTag() != "!!str":
		refuse("a key that is no text: "+key.Value, "texts as keys; quote it")
	default:
		member := new(strictjson.Node)
		if !into.AddAt(key.Value, at.Line, at.Column, member) {
			refuse("a repeated key "+key.Value, "each key of a mapping once")
		}
		y.value(member, kid, place(kid))
	}
}

var (
	plainInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	plainNumber  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// scalar reads a value without parts.
func (y *yamlReader) scalar(into *strictjson.Node, n *yaml.Node) {
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
			y.r.refuse(into, "a boolean written as "+n.Value, "true or false")
			return
		}
		into.Kind, into.Text = n.Value[0], ""
	case "!!int":
		if !plainInteger.MatchString(n.Value) {
			y.r.refuse(into, "a number written as "+n.Value, "integers in plain decimal; quote a text")
		}
		into.Kind = '0'
	case "!!float":
		if !plainNumber.MatchString(n.Value) {
			y.r.refuse(into, "a number written as "+n.Value, "numbers as 0.5 and 1e3; quote a text")
		}
		into.Kind = '0'
	case "!!merge":
		y.r.refuse(into, "a merge <<", "quote a text")
	case "!!str":
		if plainNumber.MatchString(n.Value) { // one that no float64 holds
			into.Kind = '0'
		}
	}
}

// stop refuses what cannot be read on.
func (y *yamlReader) stop(n *strictjson.Node, problem, allowed string) {
	y.broken = true
	y.r.refuse(n, problem, allowed)
}
