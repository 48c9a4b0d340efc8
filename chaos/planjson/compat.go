package planjson

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// The rows that have not yet moved to their packages.
func faultRow[P any](name, code, doc, example string, build func(P) chaos.Fault) *catalog.Row {
	return catalog.Fault(catalog.Row{Kind: name, Go: code, Doc: doc, Example: example}, build)
}

func inCode[P any](trigger bool, name, code, doc, example string) *catalog.Row {
	return catalog.InCode[P](catalog.Row{Kind: name, Go: code, Doc: doc, Example: example}, trigger)
}

type none struct{}

// named are the parameters of a fault that holds a function.
type named struct {
	Name string `json:"name" doc:"what the function looks for or does"`
	Type string `json:"type" doc:"the Go type that it takes"`
}
