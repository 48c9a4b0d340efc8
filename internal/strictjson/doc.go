// Package strictjson reads JSON into Go structs and reports everything that is
// wrong with it: unknown and repeated members, missing ones, wrong types, values
// out of the bounds that tags give. Each problem has its place, as a JSON pointer
// and as line and column, its value, and what is allowed instead.
//
// Package encoding/json takes the last of two members of one name, matches names
// without regard to case, stops at the first problem, and does not say where it
// is.
//
// [Decode] reads a document of one struct. A package with types of its own, such
// as the faults of a plan, uses a [Reader] with [Special] types. [Encode] writes
// what a Reader reads.
package strictjson

import "reflect"

// maxBytes is the default size of a document.
const maxBytes = 16 << 20

// Decode fills into, a pointer to a struct, from a document. as makes the error
// that a package shows for a problem; nil: [Problem.Field] of no package. All problems
// are joined.
func Decode(data []byte, into any, as func(*Problem) error) error {
	r := &Reader{}
	r.As = as
	if n := Parse(data, maxBytes, &r.Problems); n != nil {
		r.Bind(n, reflect.ValueOf(into).Elem(), Tag{})
	}
	return r.Err()
}
