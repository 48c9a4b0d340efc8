// Package enum gives an enumeration its texts from one table: String, MarshalText,
// UnmarshalText and a parser.
//
//	var names = enum.Names[Severity]{Package: fields, Field: "severity", Of: []string{Low: "low", High: "high"}}
//
//	func (s Severity) String() string                      { return names.String(s) }
//	func (s Severity) MarshalText() ([]byte, error)        { return names.MarshalText(s) }
//	func (s *Severity) UnmarshalText(text []byte) error    { return names.UnmarshalText(text, s) }
package enum

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// Names is the table of an enumeration whose values are small numbers.
type Names[T ~uint8] struct {
	Package fielderror.Package // whose errors they are
	Field   string             // the name of a value in errors, such as "severity"
	Of      []string           // the name of each value, at its index; "" is the name of none
}

// Has reports whether v is a value of the enumeration.
func (n Names[T]) Has(v T) bool { return int(v) < len(n.Of) && n.Of[v] != "" }

// Allowed lists the names, in the order of the values.
func (n Names[T]) Allowed() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(n.Of), func(name string) bool { return name == "" }), ", ")
}

// String returns the name of v, and "Severity(9)" for a v that has none. A name costs no
// allocation.
func (n Names[T]) String(v T) string {
	if !n.Has(v) {
		return fmt.Sprintf("%s(%d)", reflect.TypeFor[T]().Name(), uint8(v))
	}
	return n.Of[v]
}

// Find returns the value of a name, and whether there is one.
func (n Names[T]) Find(name string) (v T, ok bool) {
	i := slices.Index(n.Of, name)
	if i < 0 || name == "" {
		return 0, false
	}
	return T(i), true
}

// Parse is [Names.Find] with an error, a [*fielderror.Error], for any other text.
func (n Names[T]) Parse(name string) (T, error) {
	v, ok := n.Find(name)
	if !ok {
		return 0, n.Package.Wrong(n.Field, name, n.Allowed())
	}
	return v, nil
}

// MarshalText returns the name of v. A v that has none is a [*fielderror.Error].
func (n Names[T]) MarshalText(v T) ([]byte, error) {
	if !n.Has(v) {
		return nil, n.Package.Wrong(n.Field, fielderror.Found(n.String(v)), n.Allowed())
	}
	return []byte(n.Of[v]), nil
}

// UnmarshalText reads exactly what MarshalText writes. On an error it leaves to as it is.
func (n Names[T]) UnmarshalText(text []byte, to *T) error {
	v, err := n.Parse(string(text))
	if err == nil {
		*to = v
	}
	return err
}
