package lies

import (
	"bytes"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// An object may have several members of one name. Decoders take the last. So a
// lie about an earlier one would have no effect, and one that removed only the
// last would uncover the one before it.

// hidden reports whether node i is a member that a later one of its name hides,
// or lies within such a member. A node that a path names is never hidden.
func (e *edit) hidden(i int) bool {
	if e.addressed {
		return false
	}
	for ; i > 0; i = int(e.doc.Nodes[i].Parent) {
		if !e.doc.IsMember(i) {
			continue
		}
		name, end := e.nameText(i), e.doc.Nodes[e.doc.Nodes[i].Parent].Next
		for k := e.doc.Nodes[i].Next; k < end; k = e.doc.Nodes[k].Next {
			if e.sameNameText(int(k), name) {
				return true
			}
		}
	}
	return false
}

// duplicates returns the earlier members with the name of node i.
func (e *edit) duplicates(i int) (nodes []int) {
	if !e.doc.IsMember(i) {
		return nil
	}
	name := e.nameText(i)
	for k := e.doc.Nodes[i].Parent + 1; k < int32(i); k = e.doc.Nodes[k].Next {
		if e.sameNameText(int(k), name) {
			nodes = append(nodes, int(k))
		}
	}
	return nodes
}

// nameText is the name of member i without quotes, as decoders read it.
func (e *edit) nameText(i int) []byte {
	raw := e.rawName(i)
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return []byte(e.doc.Name(i))
}

func (e *edit) sameNameText(i int, name []byte) bool {
	raw := e.rawName(i)
	return bytes.Equal(raw, name) || bytes.IndexByte(raw, '\\') >= 0 && e.doc.Name(i) == string(name)
}

func (e *edit) rawName(i int) []byte {
	n := e.doc.Nodes[i]
	return e.doc.Text[n.NameStart+1 : n.NameEnd-1]
}

// withDuplicates removes nodes and the members that they hide.
func (e *edit) withDuplicates(nodes []int) []jsonedit.Edit {
	all := append([]int(nil), nodes...)
	for _, i := range nodes {
		all = append(all, e.duplicates(i)...)
	}
	return e.doc.Remove(all...)
}
