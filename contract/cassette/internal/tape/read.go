package tape

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

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
	if !r.bind(root, &doc) {
		return nil, r.Err()
	}
	if doc.Version != version {
		r.Refuse(root.Member("version"), strconv.Itoa(version), nil)
	}
	if count := len(doc.Exchanges); count > MaxExchanges {
		r.refuse(root.Member("exchanges"), strictjson.TooLarge, fmt.Sprintf("a list of %d", count),
			fmt.Sprintf("at most %d", MaxExchanges))
	}
	for i, exchange := range doc.Exchanges {
		if i == 0 && r.Count() > 0 || !r.exchange(exchange.Node) {
			break // the file is too large, or of another version
		}
	}
	if r.Count() > 0 {
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
	exchanges []Exchange // those read so far
	most      int        // bytes of bodies
	left      int        // of most
}

// bind fills a document, a pointer to a struct, and reports whether all of it fits.
func (r *reader) bind(n *strictjson.Node, doc any) bool {
	v := reflect.ValueOf(doc).Elem()
	return r.Object(n, v) && r.beside(n, v.Type())
}

// beside reports whether the members of an object may stand beside each other, by the tags of
// their fields: alone names the one member that may be there too, with one that must be, and of
// those that share one at most one may.
func (r *reader) beside(n *strictjson.Node, t reflect.Type) bool {
	before := r.Count()
	fields := r.Fields(t)
	for i := range fields {
		f := &fields[i]
		at := slices.Index(n.Keys, f.Name)
		if at < 0 {
			continue
		}
		if alone, is := f.Source.Lookup("alone"); is {
			for i, key := range n.Keys {
				if key != f.Name && key != alone {
					r.refuse(n.Kids[i], strictjson.WrongType, "there",
						strings.TrimSuffix("nothing beside "+f.Name+" but "+alone, " but "))
				}
			}
		}
		if with := f.Source.Get("with"); with != "" && n.Member(with) == nil {
			r.refuse(n.Kids[at], strictjson.WrongType, "there", f.Name+" beside "+with)
		}
		if one := f.Source.Get("one"); one != "" && at > 0 {
			var group []string
			for i := range fields {
				if fields[i].Source.Get("one") == one {
					group = append(group, fields[i].Name)
				}
			}
			if slices.ContainsFunc(n.Keys[:at], func(key string) bool { return slices.Contains(group, key) }) {
				r.refuse(n.Kids[at], strictjson.WrongType, "there too", "one of "+strings.Join(group, ", "))
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

// exchange reads an exchange. It returns false if the bodies became too large.
func (r *reader) exchange(n *strictjson.Node) bool {
	var doc exchangeDoc
	var e Exchange
	if r.bind(n, &doc) {
		e = Exchange{doc.Cell, doc.Lane, r.request(doc.Request.Node), r.response(doc.Response.Node)}
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
	r.Refuse(n.Member("like"), allowed, nil)
	return e
}
