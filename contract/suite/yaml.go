package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
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
	y := &yamlReader{r: r, data: data, lines: []int{0}}
	for i, b := range data {
		if b == '\n' {
			y.lines = append(y.lines, i+1)
		}
	}
	if at := unreadable(data); at >= 0 {
		y.syntax(at, errors.New("a byte that is not UTF-8, or a control character"))
		return nil
	}
	text := &lineReader{data: data}
	dec := yaml.NewDecoder(text)
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if err == io.EOF {
			err = errors.New("there is no document")
		}
		y.unparsed(err, text.line)
		return nil
	}
	n := y.value(doc.Content[0], nil, doc.Content[0])
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		r.refuse((&strictjson.Node{}).At(y.offset(&second)), "a second document", "one document")
	case err != io.EOF:
		y.unparsed(err, text.line)
		return nil
	}
	if y.broken {
		return nil
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

var (
	// yamlLine is the place in the text of an error of the YAML library. It leaves out the
	// first line.
	yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)
	// fromParser are the errors whose lines it counts from 0.
	fromParser = regexp.MustCompile(`^(did not find expected (key|node content|'-' indicator|',' or|<)` +
		`|found (undefined tag handle|duplicate %|incompatible YAML))`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// unparsed adds an error of the YAML library. Its line is that of the mistake, or the
// first one of the list, mapping or text around it. The library gave up in line read.
func (y *yamlReader) unparsed(err error, read int) {
	m := yamlLine.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(m[1])
	text := strings.TrimPrefix(err.Error(), m[0])
	if anchor := unknownAnchor.FindStringSubmatch(text); anchor != nil {
		y.syntax(y.alias(anchor[1], read), errors.New(text))
		return
	}
	if fromParser.MatchString(text) {
		line++
	}
	line = max(1, min(line, len(y.lines)))
	if read > line {
		text += fmt.Sprintf(", somewhere in lines %d to %d", line, read)
	}
	y.syntax(y.lines[line-1], errors.New(text))
}

// alias is the offset of the last alias of an anchor up to a line.
func (y *yamlReader) alias(name string, line int) int {
	end := len(y.data)
	if line < len(y.lines) {
		end = y.lines[line]
	}
	all := regexp.MustCompile(`\*`+regexp.QuoteMeta(name)+`(?:[\s,\]}]|$)`).FindAllIndex(y.data[:end], -1)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1][0]
}

// syntax adds what keeps the document from being read at all.
func (y *yamlReader) syntax(offset int, err error) {
	y.r.add((&strictjson.Node{}).At(offset), "", &Error{Problem: "syntax", Err: err, Allowed: "YAML: levels are " +
		"indented by spaces, : and - have a space behind them, and texts with other signs are quoted"})
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
			into.AddElement(y.value(kid, append(path, strconv.Itoa(i)), inner(kid)))
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
	case "!!str":
		if plainNumber.MatchString(n.Value) { // one that no float64 holds
			into.Kind = '0'
		}
	}
}

func (y *yamlReader) refuse(n *strictjson.Node, path []string, problem, allowed string) {
	pointer := ""
	for _, key := range path {
		pointer = strictjson.Join(pointer, key)
	}
	e := &Error{Problem: problem, Allowed: allowed}
	line, column := y.r.Place(n)
	if y.r.placed(e, pointer, line, column) {
		y.r.AddError(e)
		y.r.spelled[place{e.Pointer, line, column}] = true
	}
}

// stop is refuse for what cannot be read on.
func (y *yamlReader) stop(n *strictjson.Node, path []string, problem, allowed string) {
	y.broken = true
	y.refuse(n, path, problem, allowed)
}
