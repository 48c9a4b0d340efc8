package tape

import (
	"crypto/sha256"
	"slices"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

type digest = [sha256.Size]byte

// earlier returns a request in the words of an earlier one that it equals or continues: it
// has the same members but for one list, which goes on where the earlier one ended, as the
// messages of a conversation do. nil: there is none. It adds the request. whole is the request
// as it is written.
func (w *writer) earlier(r *requestDoc, whole []byte) (shorter *requestDoc) {
	sum := sha256.Sum256(whole)
	if first, ok := w.equal[sum]; ok {
		return &requestDoc{Like: first}
	}
	w.equal[sum] = w.count
	if len(r.Body) > 0 && r.Body[0] == '{' {
		shorter = w.continued([]byte(r.Method+" "+r.URL+"\n"), r.Body)
	}
	return shorter
}

// continued looks for the request of which this one continues a list with the fewest
// bytes. It adds the lists of this one.
func (w *writer) continued(head, body []byte) (shorter *requestDoc) {
	d, _ := jsonedit.Parse(body)
	kids := d.Children(0)
	members := make([]digest, len(kids))
	for i, kid := range kids {
		members[i] = sha256.Sum256(body[d.Nodes[kid].NameStart:d.Nodes[kid].End])
	}
	least := 0 // bytes that are written
	for i, kid := range kids {
		pointer := jsonedit.PointerTo("", d.Name(kid))
		if d.Kind(kid) != jsonedit.Array || listAt(d, pointer) != kid { // the name is there twice
			continue
		}
		elements := d.Children(kid)
		begins := beginnings(head, d, kid, elements, slices.Concat(members[:i], members[i+1:]))
		for n := len(elements) - 1; n >= 0; n-- {
			first, found := w.begun[begins[n]]
			if !found {
				continue
			}
			rest := slices.Concat([]byte{'['}, body[d.Nodes[elements[n]].Start:d.Nodes[kid].End])
			if size := len(jsonedit.Compact(nil, rest, " ")); shorter == nil || size < least {
				least, shorter = size, &requestDoc{Like: first, Append: map[string]span{pointer: rest}}
			}
			break
		}
		if end := begins[len(elements)]; w.begun[end] == 0 {
			w.begun[end] = w.count
		}
	}
	return shorter
}

// beginnings are the digests of a request with the first n elements of one of its lists, for
// each n, beside the other members.
func beginnings(head []byte, d *jsonedit.Doc, list int, elements []int, others []digest) []digest {
	start := slices.Concat(head, d.Text[d.Nodes[list].NameStart:d.Nodes[list].NameEnd])
	for _, other := range others {
		start = append(start, other[:]...)
	}
	begins := []digest{sha256.Sum256(start)}
	for k, element := range elements {
		begins = append(begins, sha256.Sum256(append(begins[k][:], d.Raw(element)...)))
	}
	return begins
}

// listAt is the list to which a JSON pointer leads, one of the members of an object: of several of one name the first.
// It is negative if there is none.
func listAt(d *jsonedit.Doc, pointer string) int {
	for _, kid := range d.Children(0) {
		if d.Kind(kid) == jsonedit.Array && d.IsMember(kid) && jsonedit.PointerTo("", d.Name(kid)) == pointer {
			return kid
		}
	}
	return -1
}
