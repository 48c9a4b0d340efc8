package text

import "strings"

// Name makes a name of letters, digits, '.', '_' and '-' from any text: what else is in it
// becomes '_', several in a row one. It has at most most bytes.
func Name(s string, most int) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		allowed := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-'
		switch {
		case b.Len() >= most:
			return b.String()
		case allowed:
			b.WriteRune(r)
			gap = false
		case !gap:
			b.WriteByte('_')
			gap = true
		}
	}
	return b.String()
}
