package suite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

const maxProblems = 100

const fields = fielderror.Package("suite")

// problems joins all that was found, up to [maxProblems] of it: what is wrong with the file in the
// order of places, then with the files that it names.
func (l *loader) problems() error {
	list, more := l.r.Kept()
	slices.SortStableFunc(list, func(a, b error) int {
		p, q := a.(*fielderror.Error), b.(*fielderror.Error)
		return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(p.Field, q.Field))
	})
	list = slices.Concat(list, l.ofOthers)
	if beyond := len(list) - maxProblems; beyond > 0 {
		list, more = list[:maxProblems:maxProblems], more+beyond
	}
	if more > 0 {
		list = append(list, fmt.Errorf("suite: and %d more problems", more))
	}
	return errors.Join(list...)
}
