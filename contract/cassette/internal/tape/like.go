package tape

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

type digest = [sha256.Size]byte

// A sum hashes parts so that no two lists of parts give the same bytes.
type sum struct{ parts []byte }

func (s *sum) add(parts ...[]byte) {
	for _, part := range parts {
		s.parts = binary.AppendUvarint(s.parts, uint64(len(part)))
		s.parts = append(s.parts, part...)
	}
}

func (s *sum) addInt(n int64) { s.add(binary.AppendVarint(nil, n)) }

func (s *sum) digest() digest { return sha256.Sum256(s.parts) }

// digest identifies a response: two with the same one are equal.
func (r *Response) digest() digest {
	var s sum
	s.addInt(int64(r.Status))
	s.addInt(int64(r.After))
	s.addInt(int64(len(r.Header)))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		s.add([]byte(name))
		s.addInt(int64(len(r.Header[name])))
		for _, value := range r.Header[name] {
			s.add([]byte(value))
		}
	}
	for _, c := range r.Chunks {
		s.addInt(int64(c.After))
		s.add(c.Data)
	}
	return s.digest()
}

// A requestIndex finds the earlier request that a request equals or continues: it
// has the same members but for one list, which goes on where the earlier one ended,
// as the messages of a conversation do.
type requestIndex struct {
	equal map[digest]int // requests by the whole, from 1
	begun map[digest]int // requests by one of their lists, from 1
}

func newRequestIndex() requestIndex {
	return requestIndex{make(map[digest]int), make(map[digest]int)}
}

// find returns a request in the words of an earlier one. If there is none, or not, it
// adds the request, which is number count. body is its body, sorted, if that is JSON.
func (x *requestIndex) find(r *Request, body *node, count int) (shorter *node, ok bool) {
	var whole sum
	whole.add([]byte(r.Method), []byte(r.URL))
	if body == nil {
		whole.add(r.Body)
	} else {
		whole.add(body.Append(nil, ""))
	}
	all := whole.digest()
	if first, ok := x.equal[all]; ok {
		return like(first), true
	}
	x.equal[all] = count
	if body != nil && body.Kind == '{' {
		shorter, ok = x.continued(r, body, count)
	}
	return shorter, ok
}

// continued looks for the request of which this one continues a list with the fewest
// bytes. It adds the lists of this one.
func (x *requestIndex) continued(r *Request, body *node, count int) (shorter *node, ok bool) {
	members := make([]digest, len(body.Kids))
	for i, kid := range body.Kids {
		members[i] = sha256.Sum256(kid.Append(append(body.AppendName(nil, i), ':'), ""))
	}
	least := 0 // bytes that are written
	for i, kid := range body.Kids {
		pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(body.Keys[i])
		if kid.Kind != '[' || lookup(body, pointer) != kid { // the name is there twice
			continue
		}
		elements := kid.Kids
		begins := x.beginnings(r, body, members, i)
		for n := len(elements) - 1; n >= 0; n-- {
			first, found := x.begun[begins[n]]
			if !found {
				continue
			}
			rest := &node{Kind: '[', Kids: elements[n:]}
			if size := len(rest.Append(nil, " ")); !ok || size < least {
				added := object()
				added.Set(pointer, rest)
				shorter, least, ok = like(first), size, true
				shorter.Set("append", added)
			}
			break
		}
		if end := begins[len(elements)]; x.begun[end] == 0 {
			x.begun[end] = count
		}
	}
	return shorter, ok
}

// beginnings are the digests of a request with the first n elements of its list i, for
// each n.
func (x *requestIndex) beginnings(r *Request, body *node, members []digest, i int) []digest {
	var others sum
	others.add([]byte(r.Method), []byte(r.URL), body.AppendName(nil, i))
	for j := range members {
		if j != i {
			others.add(members[j][:])
		}
	}
	begins := []digest{others.digest()}
	for k, element := range body.Kids[i].Kids {
		var next sum
		next.add(begins[k][:], element.Append(nil, ""))
		begins = append(begins, next.digest())
	}
	return begins
}
