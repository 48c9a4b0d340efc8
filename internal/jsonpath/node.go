package jsonpath

// A Node is a value of a document that is not decoded. Paths treat it like the Go value that it stands for, and find
// nodes below it. Its children are Nodes too.
type Node interface {
	// Member returns a member of an object.
	Member(name string) (child any, ok bool)
	// Members yields the members of an object in the order of their names, each name once.
	Members(found func(name, child any))
	// Elements returns those of a list.
	Elements() []any
	// Leaf reports whether it is neither an object nor a list.
	Leaf() bool
	// Scalar returns a string, number, boolean or nil as encoding/json decodes it, and itself for an object or a list.
	Scalar() any
}

func memberOf(v any, name string) (child any, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		child, ok = v[name]
	case Node:
		child, ok = v.Member(name)
	}
	return child, ok
}

func elementsOf(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case Node:
		return v.Elements()
	}
	return nil
}

func scalarOf(v any) any {
	if n, ok := v.(Node); ok {
		return n.Scalar()
	}
	return v
}

// leaf reports whether a value has no children.
func leaf(v any) bool {
	switch v := v.(type) {
	case map[string]any, []any:
		return false
	case Node:
		return v.Leaf()
	}
	return true
}
