package report

import (
	"encoding/json"
	"reflect"
)

// CompactAs is Compact with the versions of another program.
var CompactAs = compactAs

// CompactFile is the type of what Compact writes.
var CompactFile = reflect.TypeFor[compactFile]()

// Rehashed is a compact report as Compact writes it, with the hash of what it says; text
// that is none stays as it is.
func Rehashed(text []byte) []byte {
	var f compactFile
	if checkSyntax(text) != nil || checkShapeOf(text, reflect.TypeFor[compactFile]()) != nil || json.Unmarshal(text, &f) != nil {
		return text
	}
	return f.encode()
}
