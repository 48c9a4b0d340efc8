package tape

import (
	"strconv"
	"strings"
)

// pointerTo is the JSON pointer to a member of the top of a document, given by its
// name in quotes.
func pointerTo(key []byte) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(unquoted(key))
}

// at follows a JSON pointer. It returns nil if that leads nowhere.
func (n *node) at(pointer string) *node {
	if pointer == "" {
		return n
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		kid := -1
		switch n.kind {
		case '{':
			for i, key := range n.keys {
				if unquoted(key) == part {
					kid = i
					break
				}
			}
		case '[':
			if i, err := strconv.Atoi(part); err == nil && strconv.Itoa(i) == part && i >= 0 && i < len(n.kids) {
				kid = i
			}
		}
		if kid < 0 {
			return nil
		}
		n = &n.kids[kid]
	}
	return n
}
