package planjson

import (
	"fmt"
	"slices"
	"strings"
)

// A Row is a row of the table of kinds, for the tests of tables and schemas.
type Row struct {
	Name, Code, Doc, Example string
	Trigger, Held            bool
}

// Rows are the ready-made kinds.
func Rows() []Row {
	var rows []Row
	seen := map[string]bool{}
	for _, k := range readyMade() {
		if err := bindable(k.params); err != nil || seen[k.name] {
			panic(fmt.Sprint("kind ", k.name, " is there twice, or cannot be bound: ", err))
		}
		seen[k.name] = true
		rows = append(rows, Row{k.name, k.code, k.doc, k.example, k.trigger, k.held})
	}
	return rows
}

// A WeatherRow is a row of the table of weathers.
type WeatherRow struct{ Name, Doc, Strikes string }

// Weathers are the ready-made weathers.
func Weathers() []WeatherRow {
	var rows []WeatherRow
	for _, w := range weathers() {
		var strikes []string
		for name, needed := range map[string]bool{"Tools": w.needs.tools, "Models": w.needs.models, "Streams": w.needs.streams} {
			if needed {
				strikes = append(strikes, "`"+name+"`")
			}
		}
		slices.Sort(strikes)
		rows = append(rows, WeatherRow{w.name, w.doc, strings.Join(strikes, ", ")})
	}
	return rows
}
