package search

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fewest"
)

// chooseForAll finds the fewest habits that mend all defects that habits mend: of the sets that have for each defect
// habits under which its cells held, the smallest that is verified for all of them together.
func (c *curer) chooseForAll(ask askFunc) {
	var mended []*ailing
	var candidates []int // that mend some
	most := map[int]bool{}
	for _, a := range c.all {
		if a.d.Cure == nil || len(a.d.Cure.Habits) == 0 {
			continue
		}
		mended = append(mended, a)
		for _, i := range a.chosen {
			most[i] = true
		}
		for _, t := range best(a.tried) {
			for _, i := range t.picks {
				if !slices.Contains(candidates, i) && len(candidates) < maxTogether {
					candidates = append(candidates, i)
				}
			}
		}
	}
	if len(mended) == 0 {
		if c.runs.Cut != "" {
			c.report.Cure = notSearched()
		}
		return
	}
	slices.Sort(candidates)
	why := ""
	for _, picks := range coversOf(candidates, len(most), mended) {
		cure, refused := c.verify(ask, c.together(picks, mended), true, mended...)
		switch {
		case cure != nil:
			cure.Defects = len(mended)
			c.report.Cure = cure
			return
		case c.runs.Cut != "":
			c.report.Cure = notSearched()
			return
		}
		why = cmp.Or(why, fmt.Sprintf("under %v %s", fewest.Pick(c.habits, picks), refused))
	}
	c.report.Cure = &contract.Cure{Why: c.secrets.Text("no habits here mend them together: " + why)}
}

// Bounds of the search for habits that mend all defects.
const (
	maxTogether = 12 // habits of which sets are made
	maxCovers   = 4  // sets of one size that are tried
)

// coversOf are the sets of up to so many that mend each of the defects: the smallest first, and of a size those that
// have the habits that each has alone.
func coversOf(candidates []int, most int, mended []*ailing) (sets []partSet) {
	for mask := range 1 << len(candidates) {
		var picks partSet
		for k, i := range candidates {
			if mask>>k&1 == 1 {
				picks = append(picks, i)
			}
		}
		if len(picks) <= most && !slices.ContainsFunc(mended, func(a *ailing) bool { return !a.mendedWithin(picks) }) {
			sets = append(sets, picks)
		}
	}
	chosen := func(picks partSet) (n int) {
		for _, a := range mended {
			if a.chosen.within(picks) {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(sets, func(a, b partSet) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(chosen(b), chosen(a)))
	})
	ofSize := map[int]int{}
	return slices.DeleteFunc(sets, func(s partSet) bool {
		ofSize[len(s)]++
		return ofSize[len(s)] > maxCovers
	})
}

func (a *ailing) mendedWithin(picks partSet) bool {
	return slices.ContainsFunc(a.tried, func(t attempt) bool { return t.mends() && t.picks.within(picks) })
}

// together are habits on the tools on which they mend the defects alone, or on which these have their faults.
func (c *curer) together(picks []int, mended []*ailing) habitSet {
	set := fewest.Pick(c.habits, picks)
	for k, h := range set {
		var tools []string
		for _, a := range mended {
			for _, own := range a.d.Cure.Habits {
				if own.Name == h.Name {
					tools = append(tools, own.Tools...)
				}
			}
		}
		if len(tools) == 0 {
			for _, a := range mended {
				tools = append(tools, a.targets...)
			}
		}
		set[k] = habitSet{h}.only(tools)[0]
	}
	return set
}
