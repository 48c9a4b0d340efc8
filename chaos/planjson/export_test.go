package planjson

import "fmt"

// A Row is a row of the table of kinds, for the tests of tables and schemas.
type Row struct {
	Name, Code, Doc, Example string
	Trigger, Held            bool
}

// KindRows are the ready-made kinds.
func KindRows() []Row {
	var rows []Row
	seen := map[string]bool{}
	for _, k := range Rows() {
		if err := newBinder(&table{}).Bindable(k.Params()); err != nil || seen[k.Kind] {
			panic(fmt.Sprint("kind ", k.Kind, " is there twice, or cannot be bound: ", err))
		}
		seen[k.Kind] = true
		rows = append(rows, Row{k.Kind, k.Go, k.Doc, k.Example, k.IsTrigger(), k.HoldsCode()})
	}
	return rows
}
