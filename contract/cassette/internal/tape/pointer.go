package tape

import (
	"slices"
	"strconv"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// lookup follows a JSON pointer. It returns nil if that leads nowhere.
func lookup(n *node, pointer string) *node {
	if pointer == "" {
		return n
	}
	for _, part := range jsonedit.PointerKeys(pointer) {
		key := part.(string)
		kid := -1
		if n.Kind == '{' {
			kid = slices.Index(n.Keys, key)
		} else if i, err := strconv.Atoi(key); err == nil && strconv.Itoa(i) == key && i < len(n.Kids) {
			kid = i
		}
		if kid < 0 {
			return nil
		}
		n = n.Kids[kid]
	}
	return n
}
