package jsonedit

import (
	"cmp"
	"slices"
)

// An Edit replaces the text from From to before To by With.
type Edit struct {
	From, To int
	With     []byte
}

// Apply makes the edits and returns the new text. Of overlapping edits the one that begins first counts, and of those
// the longer one. Insertions at one place keep their order.
func (d *Doc) Apply(edits ...Edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		if a.From == b.From && a.From < a.To && b.From < b.To {
			return cmp.Compare(b.To, a.To)
		}
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(min(a.To-a.From, 1), min(b.To-b.From, 1)))
	})
	size := len(d.Text)
	for _, e := range edits {
		size += len(e.With)
	}
	out, at := make([]byte, 0, size), 0
	for _, e := range edits {
		if e.From < at {
			continue
		}
		out = append(append(out, d.Text[at:e.From]...), e.With...)
		at = e.To
	}
	return append(out, d.Text[at:]...)
}

// Replace gives node i another value.
func (d *Doc) Replace(i int, raw []byte) Edit {
	return Edit{int(d.Nodes[i].Start), int(d.Nodes[i].End), raw}
}

// Rename gives the member i another name.
func (d *Doc) Rename(i int, name string) Edit {
	return Edit{int(d.Nodes[i].NameStart), int(d.Nodes[i].NameEnd), Quote(name)}
}

// Insert adds a member to the end of an object, or an element to the end of a list, which ignores name.
func (d *Doc) Insert(container int, name string, raw []byte) Edit {
	end := int(d.Nodes[container].End) - 1
	var with []byte
	if children := d.Children(container); len(children) > 0 {
		last := children[len(children)-1]
		end = int(d.Nodes[last].End)
		with = append(with, ',')
		if len(children) > 1 { // as those before it
			with = append(with[:0], d.Text[d.Nodes[children[len(children)-2]].End:d.begin(last)]...)
		}
	}
	if d.Kind(container) == Object {
		with = append(append(with, Quote(name)...), ':')
	}
	return Edit{end, end, append(with, raw...)}
}

// begin is where node i begins, its name included.
func (d *Doc) begin(i int) int {
	if n := d.Nodes[i]; n.NameStart < n.NameEnd {
		return int(n.NameStart)
	}
	return int(d.Nodes[i].Start)
}

// Remove removes nodes from their lists and objects, with the commas that they leave: the one before them, and at the
// front the one behind. The document itself stays.
func (d *Doc) Remove(nodes ...int) (edits []Edit) {
	gone := make(map[int]bool, len(nodes))
	for _, i := range nodes {
		gone[i] = true
	}
	done := map[int32]bool{-1: true}
	for _, i := range nodes {
		parent := d.Nodes[i].Parent
		if done[parent] {
			continue
		}
		done[parent] = true
		siblings, front := d.Children(int(parent)), true
		for k, c := range siblings {
			e := Edit{From: d.begin(c), To: int(d.Nodes[c].End)}
			switch front = front && gone[c]; {
			case !gone[c]:
				continue
			case !front:
				e.From = int(d.Nodes[siblings[k-1]].End)
			case k+1 < len(siblings):
				e.To = d.begin(siblings[k+1])
			}
			edits = append(edits, e)
		}
	}
	return edits
}

// Arrange gives list i the given elements of its own, in that order and as often as they are named. The white space is
// that of the list as it is.
func (d *Doc) Arrange(i int, elements []int) []byte {
	old := d.Children(i)
	if len(elements) == 0 || len(old) == 0 {
		return []byte("[]")
	}
	n := d.Nodes[i]
	sep := []byte{','}
	if len(old) > 1 {
		sep = d.Text[d.Nodes[old[0]].End:d.Nodes[old[1]].Start]
	}
	out := slices.Clone(d.Text[n.Start:d.Nodes[old[0]].Start])
	for k, e := range elements {
		if k > 0 {
			out = append(out, sep...)
		}
		out = append(out, d.Raw(e)...)
	}
	return append(out, d.Text[d.Nodes[old[len(old)-1]].End:n.End]...)
}
