package suite

import "reflect"

// A PageRow is a type or a mode as the page has it.
type PageRow struct {
	List, Name, Text string
	Params           reflect.Type
	Answers          bool
}

// PageRows are the types, and the modes.
func PageRows() (types, lists []PageRow) {
	for _, k := range kinds() {
		types = append(types, PageRow{"", k.name, k.text, k.params, k.answers})
	}
	for _, m := range modes() {
		lists = append(lists, PageRow{m.list, m.name, m.text, m.params, false})
	}
	return types, lists
}

// KindNames lists the types of invariants.
func KindNames() (names []string) {
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}
