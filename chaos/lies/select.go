package lies

import (
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// anything ranks what a path names; without paths the whole result.
func anything(e *edit, i int) int {
	if e.addressed || i == 0 {
		return 1
	}
	return 0
}

// ofKind ranks the values of one kind.
func ofKind(k jsonedit.Kind) func(*edit, int) int {
	return func(e *edit, i int) int {
		if e.doc.Kind(i) == k {
			return 1
		}
		return 0
	}
}

// members ranks all members; elements only if a path names them.
func members(e *edit, i int) int {
	if e.addressed && i > 0 || e.doc.IsMember(i) {
		return 1
	}
	return 0
}

// lists ranks the lists with at least so many elements.
func lists(least int) func(*edit, int) int {
	return func(e *edit, i int) int {
		if e.doc.Kind(i) == jsonedit.Array && len(e.doc.Children(i)) >= least {
			return 1
		}
		return 0
	}
}

// nameOf is the name of node i, or of the list that contains it.
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

// isScalar reports whether a value of that kind has nothing below it.
func isScalar(k jsonedit.Kind) bool { return k != jsonedit.Array && k != jsonedit.Object }
