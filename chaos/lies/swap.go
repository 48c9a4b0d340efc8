package lies

import (
	"bytes"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// SwapFields exchanges two values, as a mapping does that takes billing for
// shipping. With two paths it exchanges the values that they name. Without
// paths it draws two members of one object that have one type and differ.
func SwapFields(paths ...string) chaos.Fault { return swapFieldsRow.Of(swapFields{pathsIn(paths)}) }

var swapFieldsRow = row(catalog.Row{
	Kind: "swapped_fields", Doc: "Two values have changed places.",
	Go: "lies.SwapFields(paths...)", Class: chaos.ClassValue,
}, func(p swapFields) lie {
	l := lie{wants: "two members of one type",
		rank: ofKind(jsonedit.Object),
		apply: func(e *edit, i int) bool {
			pairs := pairsOf(e, e.doc.Children(i))
			if len(pairs) == 0 {
				return false
			}
			p := pairs[e.pick(i, 0, len(pairs))]
			return e.exchange(p[0], p[1])
		}}
	if len(p.Paths) > 0 {
		where := parsed(p.Paths)
		l.whole = func(e *edit) {
			if nodes := e.find(where); len(nodes) == 2 {
				e.exchange(nodes[0], nodes[1])
			}
		}
		l.wants = "two values, one at each of the paths,"
	}
	return l
})

type swapFields struct{ where }

func (p swapFields) Check(c *catalog.Check) {
	c.That(len(p.Paths) == 0 || len(p.Paths) == 2, "paths", fmt.Sprintf("%d of them", len(p.Paths)), "two, or none")
	p.where.Check(c)
}

// exchange exchanges the values of two nodes.
func (e *edit) exchange(i, k int) bool {
	a, b := e.doc.Raw(i), e.doc.Raw(k)
	return e.replace(i, b) && e.replace(k, a)
}

// pairsOf returns the pairs of nodes of one kind whose values differ; only
// pairs of scalars, if there are any.
func pairsOf(e *edit, nodes []int) (pairs [][2]int) {
	var deep [][2]int
	for k, a := range nodes {
		for _, b := range nodes[k+1:] {
			if e.doc.Kind(a) != e.doc.Kind(b) || bytes.Equal(e.doc.Raw(a), e.doc.Raw(b)) {
				continue
			}
			if isScalar(e.doc.Kind(a)) {
				pairs = append(pairs, [2]int{a, b})
			} else {
				deep = append(deep, [2]int{a, b})
			}
		}
		if len(pairs) > maxPairs {
			break
		}
	}
	if len(pairs) > 0 {
		return pairs
	}
	return deep
}

// maxPairs keeps the search in an object of thousands of members short.
const maxPairs = 1024

// SwapEntity exchanges the identities of two records of a list: the members by
// which records are told apart (id, name, and names such as order_id).
// Everything else stays, so that each record describes the other's subject.
// Paths name lists.
func SwapEntity(paths ...string) chaos.Fault { return swapEntityRow.Of(pathsIn(paths)) }

var swapEntityRow = lieRow[where](catalog.Row{
	Kind: "swapped_entity", Doc: "A record of a list has the identifier of another one.",
	Go: "lies.SwapEntity(paths...)", Class: chaos.ClassValue,
}, lie{wants: "list with two records that differ in an identifier",
	rank: lists(2),
	apply: func(e *edit, i int) bool {
		rows := e.doc.Children(i)
		first, apart := e.pick(i, 0, len(rows)), e.pick(i, 1, len(rows)-1)
		for k := range len(rows) * len(rows) {
			a := rows[(first+k)%len(rows)]
			b := rows[(first+k+1+(apart+k/len(rows))%(len(rows)-1))%len(rows)]
			if e.exchangeIdentity(a, b) {
				return true
			}
			if k > maxPairs {
				break
			}
		}
		return false
	}})

// exchangeIdentity exchanges the members by which two records are told apart.
func (e *edit) exchangeIdentity(a, b int) (done bool) {
	if e.doc.Kind(a) != jsonedit.Object || e.doc.Kind(b) != jsonedit.Object {
		return false
	}
	for _, member := range e.doc.Children(a) {
		name := e.doc.Name(member)
		if !isID(name) && name != "name" && name != "title" {
			continue
		}
		if other, ok := e.doc.Member(b, name); ok && isScalar(e.doc.Kind(member)) && isScalar(e.doc.Kind(other)) {
			done = e.exchange(member, other) || done
		}
	}
	return done
}
