package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
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
	data    []byte
	lines   []int // offsets of their first bytes
	last    spot  // of the scalar that was placed before: most follow each other
	aliased int   // values that aliases stood for so far
	within  int   // aliases around the value that is read
	broken  bool  // reading stopped
}

// A spot is a place with its offset.
type spot struct{ line, column, offset int }

// parseYAML reads a document. A problem of its form gives no node.
func (r *reader) parseYAML(data []byte) *strictjson.Node {
	r.Foreign(data)
	if !utf8.Valid(data) {
		r.add(&Error{Problem: "syntax", Err: errors.New("the file is not UTF-8")})
		return nil
	}
	y := &yamlReader{r: r, data: data, lines: []int{0}}
	for i, b := range data {
		if b == '\n' {
			y.lines = append(y.lines, i+1)
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if err == io.EOF {
			err = errors.New("there is no document")
		}
		r.add(syntax(err))
		return nil
	}
	n := y.value(doc.Content[0], nil, doc.Content[0])
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		r.at("", (&strictjson.Node{}).At(y.offset(&second)),
			&Error{Problem: "a second document", Allowed: "one document"})
	case err != io.EOF:
		r.add(syntax(err))
		return nil
	}
	if y.broken {
		return nil
	}
	return n
}

// yamlLine is the place in the text of an error of the YAML library.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// syntax is an error of the YAML library with its line.
func syntax(err error) *Error {
	text := err.Error()
	e := &Error{Problem: "syntax", Err: err}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Column = 1
		e.Err = errors.New(text[len(m[0]):])
	}
	return e
}

// offset is the first byte of a value. The library counts columns in characters.
func (y *yamlReader) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(y.lines) {
		return 0
	}
	at := spot{n.Line, 1, y.lines[n.Line-1]}
	if y.last.line == n.Line && y.last.column <= n.Column {
		at = y.last
	}
	for at.column < n.Column && at.offset < len(y.data) {
		_, size := utf8.DecodeRune(y.data[at.offset:])
		at.column++
		at.offset += size
	}
	y.last = at
	return at.offset
}

// value reads a value. path leads to it, and place is the value that stands in its place
// in the text: the outermost alias, if there are any.
func (y *yamlReader) value(n *yaml.Node, path []string, place *yaml.Node) *strictjson.Node {
	into := (&strictjson.Node{Kind: 'n'}).At(y.offset(place))
	if y.broken {
		return into
	}
	if y.within > 0 {
		if y.aliased++; y.aliased > maxAliased {
			y.stop(into, path, "too large", fmt.Sprintf("aliases that stand for at most %d values", maxAliased))
			return into
		}
	}
	if len(path) > strictjson.MaxDepth {
		y.stop(into, path, "too deep", fmt.Sprintf("at most %d levels", strictjson.MaxDepth))
		return into
	}
	if n.Style&yaml.TaggedStyle != 0 {
		y.refuse(into, path, "a tag "+n.Tag, "values without a tag")
		return into
	}
	if y.within == 0 && y.bareTag(y.offset(n)) {
		y.refuse(into, path, "a tag !", "values without a tag")
		return into
	}
	inner := func(kid *yaml.Node) *yaml.Node {
		if y.within > 0 {
			return place
		}
		return kid
	}
	switch n.Kind {
	case yaml.AliasNode:
		y.within++
		defer func() { y.within-- }()
		return y.value(n.Alias, path, place)
	case yaml.SequenceNode:
		into.Kind = '['
		for i, kid := range n.Content {
			into.Kids = append(into.Kids, y.value(kid, append(path, strconv.Itoa(i)), inner(kid)))
		}
	case yaml.MappingNode:
		into.Kind = '{'
		for i := 0; i+1 < len(n.Content) && !y.broken; i += 2 {
			y.member(into, n.Content[i], n.Content[i+1], path, inner)
		}
	case yaml.ScalarNode:
		y.scalar(into, n, path)
	}
	return into
}

// bareTag reports whether the tag that is none begins a value, of which the library says
// nothing. There may be an anchor before it.
func (y *yamlReader) bareTag(offset int) bool {
	text := y.data[offset:]
	if len(text) > 0 && text[0] == '&' {
		end := bytes.IndexAny(text, " \t\r\n")
		if end < 0 {
			return false
		}
		text = bytes.TrimLeft(text[end:], " \t")
	}
	return len(text) > 0 && text[0] == '!'
}

// member adds a member to an object.
func (y *yamlReader) member(into *strictjson.Node, key, kid *yaml.Node, path []string,
	place func(*yaml.Node) *yaml.Node,
) {
	offset := y.offset(place(key))
	at := (&strictjson.Node{Kind: '"', Text: key.Value}).At(offset)
	switch {
	case key.Kind != yaml.ScalarNode:
		y.refuse(at, path, "a key that is no text", "texts as keys")
		return
	case key.Style&yaml.TaggedStyle != 0:
		y.refuse(at, path, "a tag "+key.Tag, "keys without a tag")
		return
	case key.ShortTag() == "!!merge":
		y.refuse(at, path, "a merge key <<", "members written out, or one alias for all of them")
		return
	case key.ShortTag() != "!!str":
		y.refuse(at, path, "a key that is no text: "+key.Value, "texts as keys; quote it")
		return
	}
	below := append(path, key.Value)
	if !into.Add(key.Value, offset, y.value(kid, below, place(kid))) {
		y.refuse(at, below, "a repeated key", "each key of a mapping once")
	}
}

var (
	plainInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	plainNumber  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// scalar reads a value without parts.
func (y *yamlReader) scalar(into *strictjson.Node, n *yaml.Node, path []string) {
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
			y.refuse(into, path, "a boolean written as "+n.Value, "true or false")
			return
		}
		into.Kind, into.Text = n.Value[0], ""
	case "!!int":
		if !plainInteger.MatchString(n.Value) {
			y.refuse(into, path, "a number written as "+n.Value, "integers in plain decimal; quote a text")
		}
		into.Kind = '0'
	case "!!float":
		if !plainNumber.MatchString(n.Value) {
			y.refuse(into, path, "a number written as "+n.Value, "numbers as 0.5 and 1e3; quote a text")
		}
		into.Kind = '0'
	case "!!merge":
		y.refuse(into, path, "a merge <<", "quote a text")
	}
}

func (y *yamlReader) refuse(n *strictjson.Node, path []string, problem, allowed string) {
	pointer := ""
	for _, key := range path {
		pointer = strictjson.Join(pointer, key)
	}
	y.r.at(pointer, n, &Error{Problem: problem, Allowed: allowed})
}

// stop is refuse for what cannot be read on.
func (y *yamlReader) stop(n *strictjson.Node, path []string, problem, allowed string) {
	y.broken = true
	y.refuse(n, path, problem, allowed)
}
