package tape

import (
	"bytes"
	"errors"
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

// read is Read with most bytes of bodies. It reads the exchanges one at a time: the tree of
// all takes many times the memory of the file. Where something is wrong, that tree says where.
func read(data []byte, most int) (*File, error) {
	if head, frames := apart(data); frames != nil && len(data) <= MaxBytes {
		if f, err := readParts(head, frames, most); err == nil {
			return f, nil
		}
	}
	return readParts(data, nil, most)
}

// readParts reads a document whose exchanges are in it, or are frames.
func readParts(head []byte, frames [][]byte, most int) (*File, error) {
	r := &reader{most: most, left: most}
	r.Special, r.Opaque, r.As, r.Prefix = special(), opaque, asField, "cassette: "
	root := strictjson.Parse(head, MaxBytes, &r.Problems)
	if root == nil {
		return nil, r.Err()
	}
	var doc fileDoc
	if !r.Object(root, reflect.ValueOf(&doc).Elem()) {
		return nil, r.Err()
	}
	if frames != nil && len(doc.Exchanges) > 0 {
		return nil, errElsewhere
	}
	count := max(len(doc.Exchanges), len(frames))
	if !r.known(root, doc.Version, count) {
		return nil, r.Err()
	}
	r.exchanges = make([]Exchange, 0, count)
	for i := range count {
		var n *strictjson.Node
		at := "/exchanges/" + strconv.Itoa(i)
		if frames == nil {
			n = doc.Exchanges[i].Node
		} else if n = strictjson.Parse(frames[i], MaxBytes, &r.Problems); n == nil {
			return nil, r.Err()
		} else {
			r.Within = at
		}
		if !r.exchange(n, at) {
			return nil, r.Err() // the file is too large
		}
	}
	if r.Count() > 0 {
		return nil, r.Err()
	}
	return &File{r.exchanges}, nil
}

// errElsewhere says that the frames are those of a list within an exchange.
var errElsewhere = errors.New("cassette: the exchanges are elsewhere")

// apart returns a file without its exchanges, and these. There are none if it does not find
// its way.
func apart(data []byte) (head []byte, frames [][]byte) {
	begin := bytes.Index(data, []byte(`"exchanges"`))
	if begin < 0 {
		return data, nil
	}
	at := jsonedit.Space(data, begin+len(`"exchanges"`))
	if at == len(data) || data[at] != ':' {
		return data, nil
	}
	if at = jsonedit.Space(data, at+1); at == len(data) || data[at] != '[' {
		return data, nil
	}
	for open := at + 1; ; {
		at = jsonedit.Space(data, at+1)
		end := jsonedit.After(data, at)
		if end < 0 {
			return data, nil
		}
		frames = append(frames, data[at:end:end])
		at = jsonedit.Space(data, end)
		switch {
		case at < len(data) && data[at] == ']':
			return slices.Concat(data[:open], data[at:]), frames
		case at == len(data) || data[at] != ',':
			return data, nil
		}
	}
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

// known reports whether the version and the number of exchanges are.
func (r *reader) known(root *strictjson.Node, is, exchanges int) bool {
	if is != version {
		return r.Refuse(root.Member("version"), strconv.Itoa(version), nil)
	}
	if exchanges > MaxExchanges {
		return r.refuse(root.Member("exchanges"), "/exchanges", strictjson.TooLarge,
			fmt.Sprintf("a list of %d", exchanges), fmt.Sprintf("at most %d", MaxExchanges))
	}
	return true
}

// refuse adds a problem whose value is given in words, and returns false.
func (r *reader) refuse(n *strictjson.Node, at string, why strictjson.Reason, found, allowed string) bool {
	if !r.Full() {
		line, column := r.Place(n)
		r.Add(&strictjson.Problem{Pointer: at, Line: line, Column: column, Reason: why, Value: found, Allowed: allowed})
	}
	return false
}

// exchange reads an exchange. It returns false if the bodies became too large.
func (r *reader) exchange(n *strictjson.Node, at string) bool {
	var doc exchangeDoc
	var e Exchange
	if r.Object(n, reflect.ValueOf(&doc).Elem()) {
		e.Cell, e.Lane = doc.Cell, doc.Lane
		e.Request = r.request(doc.Request.Node, at+"/request")
		e.Response = r.response(doc.Response.Node, at+"/response")
	}
	r.exchanges = append(r.exchanges, e)
	if r.left -= e.size(); r.left < 0 {
		return r.refuse(n, at, strictjson.TooLarge, "one too many",
			fmt.Sprintf("bodies of at most %d bytes in all", r.most))
	}
	return true
}

// earlier is the exchange that a part is like; nil if there is none.
func (r *reader) earlier(n *strictjson.Node, at string, like int) *Exchange {
	if like >= 1 && like <= len(r.exchanges) {
		return &r.exchanges[like-1]
	}
	allowed := "the number of an earlier exchange, from 1 to " + strconv.Itoa(len(r.exchanges))
	if len(r.exchanges) == 0 {
		allowed = "no like in the first exchange"
	}
	r.Refuse(n.Member("like"), allowed, nil)
	return nil
}

// alone reports whether a part has no members but those named.
func (r *reader) alone(n *strictjson.Node, at, because string, allowed ...string) bool {
	fits := true
	for i, key := range n.Keys {
		if !has(allowed, key) {
			fits = r.refuse(n.Kids[i], at+"/"+key, strictjson.WrongType, "there", because)
		}
	}
	return fits
}

// oneOf reports whether at most one of the members is there.
func (r *reader) oneOf(n *strictjson.Node, at string, names ...string) bool {
	fits, there := true, false
	for i, key := range n.Keys {
		if has(names, key) {
			if there {
				fits = r.refuse(n.Kids[i], at+"/"+key, strictjson.WrongType, "there too",
					"one of "+strings.Join(names, ", "))
			}
			there = true
		}
	}
	return fits
}

// require reports whether a member is there.
func (r *reader) require(n *strictjson.Node, at, name, shape string) bool {
	return n.Member(name) != nil || r.refuse(n, at+"/"+name, strictjson.Missing, "", shape)
}
