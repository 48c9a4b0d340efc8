package toolkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Read reads a document. The error joins every problem of its layout, each a
// [*FieldError]. [Document.Validate] checks functions, names and values.
func Read(data []byte) (*Document, error) {
	p := problems{fields.List()}
	var v any
	if err := decode(data, &v); err != nil {
		return nil, fields.Because(whole, nil, err, "")
	}
	p.repeated(json.NewDecoder(bytes.NewReader(data)), "")
	checkDocument(node{p, "", v, true})
	if p.Count() > 0 {
		return nil, p.Err()
	}
	d := &Document{}
	if err := decode(data, d); err != nil {
		return nil, fields.Because(whole, nil, err, "")
	}
	return d.tidy()
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
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows it")
	}
	return nil
}

// repeated reports members that an object has twice: JSON does not define them, and
// readers differ. The text is valid JSON.
func (p problems) repeated(d *json.Decoder, path string) {
	t, err := d.Token()
	switch {
	case err != nil:
	case t == json.Delim('{'):
		seen := make(map[string]bool)
		for d.More() {
			t, _ := d.Token()
			name, _ := t.(string)
			if seen[name] {
				p.add(below(path, name), name, "each member once")
			}
			seen[name] = true
			p.repeated(d, below(path, name))
		}
		_, _ = d.Token()
	case t == json.Delim('['):
		for i := 0; d.More(); i++ {
			p.repeated(d, fmt.Sprintf("%s[%d]", path, i))
		}
		_, _ = d.Token()
	}
}
