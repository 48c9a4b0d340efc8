package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// parseYAML reads a document. A problem of its form gives no node: what else is wrong would follow from it.
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
	w := &yamlWriter{reader: r, places: make(map[int][2]int)}
	w.value(doc.Content[0], "", 0)
	switch err := dec.Decode(&second); {
	case err == nil:
		r.refuseAt("", &second, "a second document", "one document")
	case err != io.EOF:
		r.syntax(text.line, 1, err)
	}
	if !r.ok() {
		return nil
	}
	r.Foreign = func(offset int) (line, column int) { return w.places[offset][0], w.places[offset][1] }
	return strictjson.Parse(w.text, math.MaxInt, &r.Problems)
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
	r.addAt("", line, column, &fielderror.Error{Err: fmt.Errorf("syntax, here or before: %w", err),
		Allowed: "YAML: levels are indented by spaces, : and - have a space behind them, and texts with other signs are quoted"})
}

// refuseAt adds the problem of a part of the YAML.
func (r *reader) refuseAt(pointer string, n *yaml.Node, problem, allowed string) {
	r.addAt(pointer, n.Line, n.Column, &fielderror.Error{Err: errors.New(problem), Allowed: allowed})
}

// A yamlWriter writes the JSON that means the same as a document of YAML. What YAML has besides is a problem.
type yamlWriter struct {
	*reader
	text   []byte
	places map[int][2]int // lines and columns in the YAML, by where values and names begin in the text
}

func (w *yamlWriter) mark(n *yaml.Node) { w.places[len(w.text)] = [2]int{n.Line, n.Column} }

// value writes a value. pointer leads to it, and depth counts the lists and mappings around it.
func (w *yamlWriter) value(n *yaml.Node, pointer string, depth int) {
	refuse := func(problem, allowed string) { w.refuseAt(pointer, n, problem, allowed) }
	w.mark(n)
	switch {
	case depth > strictjson.MaxDepth:
		refuse("too deep", fmt.Sprintf("at most %d levels", strictjson.MaxDepth))
	case n.Style&yaml.TaggedStyle != 0:
		refuse("a tag "+n.Tag, "values without a tag")
	case n.Kind == yaml.AliasNode:
		refuse("an alias *"+n.Value, "the value, written out")
	case n.Kind == yaml.ScalarNode:
		w.scalar(n, refuse)
	default:
		w.parts(n, pointer, depth+1)
	}
}

// parts writes a list or a mapping.
func (w *yamlWriter) parts(n *yaml.Node, pointer string, depth int) {
	open, step := byte('['), 1
	if n.Kind == yaml.MappingNode {
		open, step = '{', 2 // a name and a value
	}
	names := make(map[string]bool)
	w.text = append(w.text, open)
	for i := 0; i+step <= len(n.Content); i += step {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		key := strconv.Itoa(i)
		if n.Kind == yaml.MappingNode {
			key = n.Content[i].Value
			w.name(n.Content[i], names, pointer)
		}
		w.value(n.Content[i+step-1], jsonedit.Join(pointer, key), depth)
	}
	w.text = append(w.text, open+2) // in ASCII brackets close two after they open
}

// name writes the name of a member. pointer leads to its mapping, and names are those written before.
func (w *yamlWriter) name(key *yaml.Node, names map[string]bool, pointer string) {
	refuse := func(problem, allowed string) { w.refuseAt(pointer, key, problem, allowed) }
	switch {
	case key.Kind != yaml.ScalarNode:
		refuse("a key that is no text", "texts as keys")
	case key.Style&yaml.TaggedStyle != 0:
		refuse("a tag "+key.Tag, "keys without a tag")
	case key.ShortTag() == "!!merge":
		refuse("a merge key <<", "members written out")
	case key.ShortTag() != "!!str":
		refuse("a key that is no text: "+key.Value, "texts as keys; quote it")
	case names[key.Value]:
		refuse("a repeated key "+key.Value, "each key of a mapping once")
	}
	names[key.Value] = true
	w.mark(key)
	w.text = append(jsonedit.AppendQuote(w.text, key.Value), ':')
}

var (
	plainInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	plainNumber  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

func (w *yamlWriter) scalar(n *yaml.Node, refuse func(problem, allowed string)) {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&quoted != 0 {
		w.text = jsonedit.AppendQuote(w.text, n.Value)
		return
	}
	written := n.Value
	switch n.ShortTag() {
	case "!!null":
		written = "null"
	case "!!bool":
		if written != "true" && written != "false" {
			refuse("a boolean written as "+written, "true or false")
		}
	case "!!int":
		if !plainInteger.MatchString(written) {
			refuse("a number written as "+written, "integers in plain decimal; quote a text")
		}
	case "!!float":
		if !plainNumber.MatchString(written) {
			refuse("a number written as "+written, "numbers as 0.5 and 1e3; quote a text")
		}
	case "!!merge":
		refuse("a merge <<", "quote a text")
	default:
		if n.ShortTag() != "!!str" || !plainNumber.MatchString(written) { // else it is one that no float64 holds
			written = string(jsonedit.Quote(written))
		}
	}
	w.text = append(w.text, written...)
}
