package planjson

import (
	"encoding/json"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Rows returns the rows of the ready-made kinds, in the order of
// docs/faults.md. The caller may keep and change the list.
func Rows() []*catalog.Row { return readyMade() }

// A Kind is one kind of fault or trigger as data, for people and programs that
// write plans. Its parameters and coordinates are those of an example.
type Kind struct {
	chaos.Description
	Doc     string `json:"does"`
	Go      string `json:"go"`                // the constructors
	Trigger bool   `json:"trigger,omitempty"` // else a fault
	// a plan can name it where Options has the Go value, see there
	NeedsCode  bool                `json:"needsCode,omitempty"`
	Parameters []catalog.Parameter `json:"parameters,omitempty"`
}

// Kinds describes the ready-made kinds and the rows of o, in that order. A row
// whose example cannot be read is an error. o may be nil.
func Kinds(o *Options) ([]Kind, error) {
	t, err := o.table()
	if err != nil {
		return nil, err
	}
	rows := Rows()
	if o != nil {
		rows = append(rows, o.Rows...)
	}
	b := newBinder(t)
	kinds := make([]Kind, 0, len(rows))
	for _, r := range rows {
		kinds = append(kinds,
			Kind{Description: b.example(r), Doc: r.Doc, Go: r.Go, Trigger: r.IsTrigger(), NeedsCode: r.HoldsCode(),
				Parameters: r.Parameters()})
	}
	return kinds, b.Err()
}

// example describes what a row makes of its example.
func (b *binder) example(r *catalog.Row) chaos.Description {
	d := chaos.Description{Kind: r.Kind, Layer: r.Layer, Class: r.Class, Visibility: r.Visibility,
		Persistence: r.Persistence, Effect: r.Effect}
	if r.Example != "{}" {
		d.Params = json.RawMessage(r.Example)
	}
	if r.HoldsCode() {
		return d
	}
	b.Within = "/" + r.Kind + "/params"
	made := reflect.New(reflect.TypeFor[any]()).Elem()
	if n := strictjson.Parse([]byte(r.Example), defaultMaxBytes, &b.Problems); n != nil &&
		b.build(r, n, made) {
		if described, ok := made.Interface().(chaos.Described); ok {
			d = described.Describe()
			d.Kind = r.Kind // what documents call it
		}
	}
	return d
}
