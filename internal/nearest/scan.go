package nearest

import (
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

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
