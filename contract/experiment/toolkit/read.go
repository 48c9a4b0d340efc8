package toolkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Read reads a document. The error joins every problem of its layout, each a
// [*FieldError], with line and column where the value is there.
// [Document.Validate] checks functions, names and values.
func Read(data []byte) (*Document, error) {
	p := problems{List: fields.List(), text: &strictjson.Problems{}}
	p.text.As = p.ofText
	root := strictjson.Parse(data, maxDocument, p.text)
	if root == nil {
		return nil, p.Err()
	}
	p.root = root
	var v any
	if err := decode(data, &v); err != nil {
		return nil, fields.Because(whole, nil, err, "")
	}
	checkDocument(node{p, "", v, true})
	if err := p.Err(); err != nil {
		return nil, err
	}
	d := &Document{}
	if err := decode(data, d); err != nil {
		return nil, fields.Because(whole, nil, err, "")
	}
	return d.tidy()
}

// maxDocument bounds the bytes of a document.
const maxDocument = 16 << 20

// ofText adds a problem of the JSON itself, such as a member that occurs twice.
func (p problems) ofText(found *strictjson.Problem) error {
	err := fields.Because(whole, nil, found, "").At(found.Line, found.Column)
	switch {
	case found.Reason == strictjson.Duplicate:
		err = fields.Wrong(pathOf(found.Pointer), fielderror.Found("there twice"), "each member once").At(found.Line,
			found.Column)
	case found.Reason == strictjson.Syntax && found.Line > 0:
		err.Err = errors.Unwrap(found.Err) // without the place
	}
	p.Add(err)
	return err
}

// pathOf is a JSON pointer in the form of [FieldError.Field].
func pathOf(pointer string) string {
	path := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if _, err := strconv.Atoi(part); err == nil {
			path += "[" + part + "]"
			continue
		}
		path = below(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	}
	return path
}

// tidy returns the document in the one form that equal documents have: without
// empty members, and with arguments without white space.
func (d *Document) tidy() (*Document, error) {
	var doc bytes.Buffer
	if err := d.encode(json.NewEncoder(&doc)); err != nil {
		return nil, err
	}
	tidied := &Document{}
	if err := decode(doc.Bytes(), tidied); err != nil {
		return nil, fields.Because(whole, nil, err, "")
	}
	return tidied, nil
}

func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}
