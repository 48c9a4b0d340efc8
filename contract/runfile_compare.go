package contract

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// notFolded are the members of a report that no unit has. Some are those of the run as a whole,
// the others are set by a person, a judge's calibration or a search.
var notFolded = []string{"Cells", "CalmRuns", "Cancelled", "Warnings", "Defects", "SearchRuns", "SearchElapsed",
	"SearchStopped", "Repeatable", "Difference", "Mutation", "Replay", "Overall"}

// ofRuns are the members that follow from what runs showed.
var ofRuns = []string{"Repeats", "Faults", "Coverage", "Goals", "Judges", "Dropped", "Filtered", "Chaos"}

// ofOrder are the members that follow from the order of the runs, which a sequential run takes
// from what was decided: the latest runs of a scenario, and the first rulings of judges.
var ofOrder = []string{"Repeats", "Judges"}

// compare returns an error for the first member of a report that is not as it was folded.
func (h *runHead) compare(name string, folded, is *Report) error {
	own, want := is.ofCells(), folded.ofCells()
	skip := slices.Clone(notFolded)
	if !h.Facts {
		skip = append(skip, ofRuns...)
	}
	if h.Sequential {
		skip = append(skip, ofOrder...)
	}
	for f := range reflect.TypeFor[Report]().Fields() {
		if !f.IsExported() || slices.Contains(skip, f.Name) {
			continue
		}
		a, b := reflect.ValueOf(own).Elem().FieldByIndex(f.Index), reflect.ValueOf(want).Elem().FieldByIndex(f.Index)
		at, got, wanted := firstDifference(name+"."+nameOf(f), a, b)
		if at != "" {
			return fields.Wrong(at, fielderror.Found(got), wanted+", as the cells say")
		}
	}
	return nil
}

// ofCells is a copy of the report without what others add to members that follow from cells: the
// calibration of judges, and the runs that contracttest makes to see whether the agent repeats itself.
func (r *Report) ofCells() *Report {
	own := *r
	own.Judges, own.Repeats = slices.Clone(r.Judges), slices.Clone(r.Repeats)
	for i := range own.Judges {
		own.Judges[i].Calibration = nil
	}
	for i := range own.Repeats {
		n := &own.Repeats[i]
		n.Runs, n.Alike, n.Differ = 0, 0, ""
	}
	return &own
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(name, f.Name)
}

// tolerance is the allowed difference from a number computed here: another processor
// may round the last digits differently.
const tolerance = 1e-9

// sentences are members for people, which another version may word otherwise.
var sentences = []string{"Why", "Failed"}

// firstDifference is the place of the first difference of two values, with both as text.
func firstDifference(at string, a, b reflect.Value) (place, is, want string) {
	switch a.Kind() {
	case reflect.Struct:
		for f := range a.Type().Fields() {
			if f.IsExported() && !slices.Contains(sentences, f.Name) {
				own, other := a.FieldByIndex(f.Index), b.FieldByIndex(f.Index)
				if p, is, want := firstDifference(at+"."+nameOf(f), own, other); p != "" {
					return p, is, want
				}
			}
		}
		return "", "", ""
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			return firstDifference(at, a.Elem(), b.Elem())
		}
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if p, is, want := firstDifference(fmt.Sprintf("%s[%d]", at, i), a.Index(i), b.Index(i)); p != "" {
				return p, is, want
			}
		}
		if a.Len() != b.Len() {
			return at, text.Plural(a.Len(), "element"), text.Number(b.Len())
		}
		return "", "", ""
	case reflect.Float64:
		if math.Abs(a.Float()-b.Float()) <= tolerance*max(1, math.Abs(b.Float())) {
			return "", "", ""
		}
	}
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return "", "", ""
	}
	return at, shown(a), shown(b)
}

// shown is a value in an error.
func shown(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "absent"
		}
		return "there"
	}
	return text.Clip(fmt.Sprintf("%v", v.Interface()), 120)
}
