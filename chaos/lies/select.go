package lies

import (
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// anything suits where a path leads; without one the whole result does.
func anything(e *edit, i int) int {
	if e.addressed || i == 0 {
		return 1
	}
	return 0
}

// ofKind makes a rank of a type of values.
func ofKind(k jsonedit.Kind) func(*edit, int) int {
	return func(e *edit, i int) int {
		if e.doc.Kind(i) == k {
			return 1
		}
		return 0
	}
}

// members suit wherever they are; elements only where a path leads.
func members(e *edit, i int) int {
	if e.addressed && i > 0 || e.doc.IsMember(i) {
		return 1
	}
	return 0
}

// lists suit with so many elements at least.
func lists(least int) func(*edit, int) int {
	return func(e *edit, i int) int {
		if e.doc.Kind(i) == jsonedit.Array && len(e.doc.Children(i)) >= least {
			return 1
		}
		return 0
	}
}

// nameOf is the name that node i has, or that the list has in which it stands.
func nameOf(e *edit, i int) string {
	for ; i > 0; i = int(e.doc.Nodes[i].Parent) {
		if e.doc.IsMember(i) {
			return e.doc.Name(i)
		}
	}
	return ""
}

// isID reports whether a name is that of an identifier: id, order_id, orderId,
// orderID, uuid, sku, ref.
func isID(name string) bool {
	for _, end := range []string{"_id", "-id", "_ids", "Id", "Ids", "ID", "IDs", "_ref", "Ref"} {
		if len(name) > len(end) && strings.HasSuffix(name, end) {
			return true
		}
	}
	switch strings.ToLower(name) {
	case "id", "ids", "uuid", "guid", "sku", "ref", "reference", "key":
		return true
	}
	return false
}

// isScalar reports whether a node has nothing below it.
func isScalar(k jsonedit.Kind) bool { return k != jsonedit.Array && k != jsonedit.Object }
