package tape

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Read reads a file. It is strict; the error joins every problem, each a field error
// with line, column and JSON pointer. The exchanges are in the order of the file, by which
// people are told their numbers. Exchanges that the file writes as like an
// earlier one share its header and bodies, which must not be changed.
func Read(data []byte) (*File, error) { return read(data, MaxDecoded) }

// read is Read with most bytes of bodies.
func read(data []byte, most int) (*File, error) {
	r := &reader{most: most, left: most}
	r.Special, r.Opaque, r.As, r.Of = special(r), opaque, asField, fields
	root := strictjson.Parse(data, MaxBytes, &r.Problems)
	if root == nil {
		return nil, r.Err()
	}
	var doc fileDoc
	if !r.Object(root, reflect.ValueOf(&doc).Elem()) || r.Count() > 0 {
		return nil, r.Err()
	}
	return &File{r.exchanges}, nil
}

// asField is a problem as a field error. What has no place is at the beginning.
func asField(p *strictjson.Problem) error {
	return p.Field(fields).At(max(p.Line, 1), max(p.Column, 1))
}

// A reader reads the exchanges of one file.
type reader struct {
	strictjson.Reader
	exchanges []Exchange // those read so far, an empty one for each with a problem
	most      int        // bytes of bodies
	left      int        // of most
}

// fill fills the struct of an object, and reports whether its members may stand beside each
// other, by the tags of the fields: alone names the one member that may be there too, with one
// that must be, and of those that share one at most one may.
func (r *reader) fill(n *strictjson.Node, v reflect.Value) bool {
	if !r.Object(n, v) {
		return false
	}
	before := r.Count()
	fields, keys := r.Fields(v.Type()), n.Keys()
	for i := range fields {
		f := &fields[i]
		at := slices.Index(keys, f.Name)
		if at < 0 {
			continue
		}
		if alone, is := f.Source.Lookup("alone"); is {
			for i, key := range keys {
				if key != f.Name && key != alone {
					r.refuse(n.At(i), strictjson.WrongType, "there",
						strings.TrimSuffix("nothing beside "+f.Name+" but "+alone, " but "))
				}
			}
		}
		if with := f.Source.Get("with"); with != "" && n.Get(with) == nil {
			r.refuse(n.At(at), strictjson.WrongType, "there", f.Name+" beside "+with)
		}
		if one := f.Source.Get("one"); one != "" && at > 0 {
			var group []string
			for i := range fields {
				if fields[i].Source.Get("one") == one {
					group = append(group, fields[i].Name)
				}
			}
			if slices.ContainsFunc(keys[:at], func(key string) bool { return slices.Contains(group, key) }) {
				r.refuse(n.At(at), strictjson.WrongType, "there too", "one of "+strings.Join(group, ", "))
			}
		}
	}
	return r.Count() == before
}

// refuse adds a problem whose value is given in words.
func (r *reader) refuse(n *strictjson.Node, why strictjson.Reason, found, allowed string) {
	if !r.Full() {
		line, column := r.Place(n)
		r.Add(&strictjson.Problem{Pointer: n.Pointer(), Line: line, Column: column,
			Reason: why, Value: found, Allowed: allowed})
	}
}

// all reads the exchanges, unless the file is too large or none of ours.
func (r *reader) all(n *strictjson.Node, _ reflect.Value) bool {
	if n.Kind() != jsonedit.Array {
		return r.Wrong(n, "a list")
	}
	if count := n.Len(); count > MaxExchanges {
		r.refuse(n, strictjson.TooLarge, fmt.Sprintf("a list of %d", count), fmt.Sprintf("at most %d", MaxExchanges))
	}
	if r.Count() > 0 {
		return false
	}
	for _, kid := range n.Values() {
		if !r.exchange(kid) {
			break
		}
	}
	return r.Count() == 0
}

// exchange reads the next exchange. It returns false if the bodies became too large.
func (r *reader) exchange(n *strictjson.Node) bool {
	var doc exchangeDoc
	var e Exchange
	if r.Object(n, reflect.ValueOf(&doc).Elem()) {
		e = Exchange{doc.Cell, doc.Lane, r.request(n.Get("request"), &doc.Request),
			r.response(n.Get("response"), &doc.Response)}
	}
	r.exchanges = append(r.exchanges, e)
	if r.left -= e.size(); r.left < 0 {
		r.refuse(n, strictjson.TooLarge, "one too many", fmt.Sprintf("bodies of at most %d bytes in all", r.most))
	}
	return r.left >= 0
}

// earlier is the exchange that a part is like; an empty one if there is none.
func (r *reader) earlier(n *strictjson.Node, like int) (e Exchange) {
	if like >= 1 && like <= len(r.exchanges) {
		return r.exchanges[like-1]
	}
	allowed := "the number of an earlier exchange, from 1 to " + strconv.Itoa(len(r.exchanges))
	if len(r.exchanges) == 0 {
		allowed = "no like in the first exchange"
	}
	r.Refuse(n.Get("like"), allowed, nil)
	return e
}
