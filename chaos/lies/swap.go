package lies

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// SwapFields exchanges two values: those of the two paths, or, without paths,
// those of two drawn members of one object that are of one type and differ, as
// a mapping does that takes billing for shipping.
func SwapFields(paths ...string) chaos.Fault {
	l := lie{kind: "swapped_fields", class: chaos.ClassValue, wants: "two members of one type",
		check: func(c *param.Check) {
			c.That(len(paths) == 0 || len(paths) == 2, "paths", fmt.Sprintf("%d of them", len(paths)), "two, or none")
		},
		rank: ofKind(jsonedit.Object),
		turn: func(t *tale, i int) bool {
			pairs := pairsOf(t, t.doc.Children(i))
			if len(pairs) == 0 {
				return false
			}
			p := pairs[t.pick(i, 0, len(pairs))]
			return t.exchange(p[0], p[1])
		}}
	if len(paths) > 0 {
		where := parsed(paths)
		l.whole = func(t *tale) {
			if nodes := t.find(where); len(nodes) == 2 {
				t.exchange(nodes[0], nodes[1])
			}
		}
		l.wants = "two values, one at each of the paths,"
	}
	return l.at(paths)
}

// exchange puts the values of two nodes in each other's place.
func (t *tale) exchange(i, k int) bool {
	a, b := t.doc.Raw(i), t.doc.Raw(k)
	return !t.hidden(k) && t.replace(i, b) && t.replace(k, a)
}

// pairsOf are the pairs of nodes of one kind whose values differ; the scalar
// ones if there are such.
func pairsOf(t *tale, nodes []int) (pairs [][2]int) {
	var deep [][2]int
	for k, a := range nodes {
		for _, b := range nodes[k+1:] {
			if t.doc.Kind(a) != t.doc.Kind(b) || bytes.Equal(t.doc.Raw(a), t.doc.Raw(b)) {
				continue
			}
			if isScalar(t.doc.Kind(a)) {
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
// which records are told apart (id, name, and names such as order_id) change
// places, and all else stays, so that each record describes the other's
// subject. Paths name lists.
func SwapEntity(paths ...string) chaos.Fault {
	return lie{kind: "swapped_entity", class: chaos.ClassValue, wants: "list with two records that differ in an identifier",
		rank: lists(2),
		turn: func(t *tale, i int) bool {
			rows := t.doc.Children(i)
			first, apart := t.pick(i, 0, len(rows)), t.pick(i, 1, len(rows)-1)
			for k := range len(rows) * len(rows) {
				a := rows[(first+k)%len(rows)]
				b := rows[(first+k+1+(apart+k/len(rows))%(len(rows)-1))%len(rows)]
				if t.exchangeIdentity(a, b) {
					return true
				}
				if k > maxPairs {
					break
				}
			}
			return false
		}}.at(paths)
}

// exchangeIdentity exchanges the members by which two records are told apart.
func (t *tale) exchangeIdentity(a, b int) (done bool) {
	if t.doc.Kind(a) != jsonedit.Object || t.doc.Kind(b) != jsonedit.Object {
		return false
	}
	var seen []string
	for _, member := range t.doc.Children(a) {
		name := t.doc.Name(member)
		if !isID(name) && name != "name" && name != "title" || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		last, _ := t.doc.Member(a, name)
		if other, ok := t.doc.Member(b, name); ok && isScalar(t.doc.Kind(last)) && isScalar(t.doc.Kind(other)) {
			done = t.exchange(last, other) || done
		}
	}
	return done
}
