package spec

// A Row is a row of the table of kinds, for the tests of tables and schemas.
type Row struct {
	Name, Code, Doc, Example string
	Trigger, Held            bool
}

// Rows are the ready-made kinds.
func Rows() []Row {
	var rows []Row
	for _, k := range readyMade() {
		rows = append(rows, Row{k.name, k.code, k.doc, k.example, k.trigger, k.held})
	}
	return rows
}
