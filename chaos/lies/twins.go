package lies

import (
	"bytes"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// An object may have several members of one name. Decoders take the last, so
// that a lie about an earlier one would reach nobody, and one that took the
// last away would only bring the one before it to light.

// hidden tells whether node i is a member that a later one of its name hides,
// or stands within one. What a path leads to never is.
func (t *tale) hidden(i int) bool {
	if t.addressed {
		return false
	}
	for ; i > 0; i = int(t.doc.Nodes[i].Parent) {
		if !t.doc.IsMember(i) {
			continue
		}
		name, end := t.nameText(i), t.doc.Nodes[t.doc.Nodes[i].Parent].Next
		for k := t.doc.Nodes[i].Next; k < end; k = t.doc.Nodes[k].Next {
			if t.sameNameText(int(k), name) {
				return true
			}
		}
	}
	return false
}

// twins are the earlier members with the name of node i.
func (t *tale) twins(i int) (nodes []int) {
	if !t.doc.IsMember(i) {
		return nil
	}
	name := t.nameText(i)
	for k := t.doc.Nodes[i].Parent + 1; k < int32(i); k = t.doc.Nodes[k].Next {
		if t.sameNameText(int(k), name) {
			nodes = append(nodes, int(k))
		}
	}
	return nodes
}

// nameText is the name of member i without quotes, as decoders read it.
func (t *tale) nameText(i int) []byte {
	raw := t.rawName(i)
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return []byte(t.doc.Name(i))
}

func (t *tale) sameNameText(i int, name []byte) bool {
	raw := t.rawName(i)
	return bytes.Equal(raw, name) || bytes.IndexByte(raw, '\\') >= 0 && t.doc.Name(i) == string(name)
}

func (t *tale) rawName(i int) []byte {
	n := t.doc.Nodes[i]
	return t.doc.Text[n.NameStart+1 : n.NameEnd-1]
}

// withTwins removes nodes and what they hide.
func (t *tale) withTwins(nodes []int) []jsonedit.Edit {
	all := append([]int(nil), nodes...)
	for _, i := range nodes {
		all = append(all, t.twins(i)...)
	}
	return t.doc.Remove(all...)
}
