// Package nearest explains why nothing recorded answers what was asked: it finds the recorded document that is most
// like the asked one, and the places where the two differ.
//
//	x := nearest.New(len(tape), func(i int) nearest.Document { return nearest.Document{Body: tape[i]} })
//	if m, ok := x.Find(asked, nil); ok {
//		d := nearest.Compare(asked, nearest.Document{Body: tape[m.At]})
//	}
//
// Documents are alike by the share of their leaves that are equal: a leaf is a scalar or an empty container, with the
// pointer (RFC 6901) to it. The share is that of Dice, twice the leaves that both have over the leaves of both, so that
// equal documents have 1, and documents without a common leaf 0. Leaves are compared by value, as package jsonhash
// does.
//
// An Index reads each document once and keeps eight bytes a leaf.
package nearest

import (
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// A Document is one side of a comparison.
type Document struct {
	Names []Name // compared beside Body, such as the name of the tool
	Body  []byte // JSON; other text is compared as one string; empty: there is none
}

// A Name is a labelled text. Labels of one document differ.
type Name struct{ Label, Text string }

// An Index finds the nearest of many documents. It is immutable, so safe for concurrent use.
type Index struct {
	leaves []uint64 // of all documents, one after the other
	ends   []int    // of each document, in leaves
}

// New indexes n documents. It keeps none of them.
func New(n int, at func(i int) Document) *Index {
	x := &Index{ends: make([]int, n)}
	for i := range n {
		x.leaves = appendLeaves(x.leaves, at(i))
		x.ends[i] = len(x.leaves)
	}
	return x
}

// A Match says which document is the nearest, and how near.
type Match struct {
	At    int     // the index of the document
	Share float64 // of equal leaves, from 0 to 1
}

// Find returns the document that is most like the asked one, of those for which use returns true; nil: of all. Of
// equally near ones it takes the first. ok is false if there are none.
func (x *Index) Find(asked Document, use func(i int) bool) (best Match, ok bool) {
	own := appendLeaves(nil, asked)
	set := make(map[uint64]struct{}, len(own))
	for _, leaf := range own {
		set[leaf] = struct{}{}
	}
	start := 0
	for i, end := range x.ends {
		leaves := x.leaves[start:end]
		start = end
		if ok && share(min(len(own), len(leaves)), len(own), len(leaves)) <= best.Share || use != nil && !use(i) {
			continue
		}
		equal := 0
		for _, leaf := range leaves {
			if _, ok := set[leaf]; ok {
				equal++
			}
		}
		// A member that an object repeats makes equal leaves, of which only one side may have several.
		s := share(min(equal, len(own)), len(own), len(leaves))
		if !ok || s > best.Share {
			best, ok = Match{At: i, Share: s}, true
		}
	}
	return best, ok
}

func share(equal, a, b int) float64 {
	if a+b == 0 {
		return 1
	}
	return float64(2*equal) / float64(a+b)
}

// appendLeaves appends the hash of each leaf.
func appendLeaves(to []uint64, d Document) []uint64 {
	for _, n := range d.Names {
		to = append(to, hash.Combine(hash.String(n.Label), hash.String(n.Text)))
	}
	if len(d.Body) == 0 {
		return to
	}
	if doc, ok := jsonedit.Parse(d.Body); ok {
		return hashLeaves(to, doc, 0, root)
	}
	return append(to, jsonhash.Sum(d.Body))
}

const (
	root        = hash.Gamma // the hash of the pointer to the whole document
	emptyObject = 1
	emptyArray  = 2
)

// hashLeaves appends the hash of each leaf below node i. at is the hash of the pointer to it.
func hashLeaves(to []uint64, d *jsonedit.Doc, i int, at uint64) []uint64 {
	kind := d.Kind(i)
	if kind != jsonedit.Object && kind != jsonedit.Array {
		return append(to, hash.Combine(at, jsonhash.Sum(d.Raw(i))))
	}
	children := d.Children(i)
	if len(children) == 0 {
		empty := uint64(emptyArray)
		if kind == jsonedit.Object {
			empty = emptyObject
		}
		return append(to, hash.Combine(at, empty))
	}
	for n, child := range children {
		step := uint64(n)
		if kind == jsonedit.Object {
			step = hash.String(d.Name(child))
		}
		to = hashLeaves(to, d, child, hash.Combine(at, step))
	}
	return to
}
