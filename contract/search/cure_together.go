package search

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fewest"
)

// chooseForAll finds the fewest habits that mend all defects that habits mend: of those that mend each alone, as many
// as are needed so that each defect has habits under which its cells held. If these are refused for all of them
// together, all that mend some are tried.
func (c *curer) chooseForAll(ask askFunc) {
	var mended []*ailing
	var all partSet // the numbers of the habits that mend some
	for _, a := range c.all {
		if a.d.Cure == nil || len(a.d.Cure.Habits) == 0 {
			continue
		}
		mended = append(mended, a)
		for _, i := range a.chosen {
			if !slices.Contains(all, i) {
				all = all.with(i)
			}
		}
	}
	switch {
	case len(mended) > 0:
		c.report.Cure = c.mendTogether(ask, all, mended)
	case c.runs.Cut != "":
		c.report.Cure = notSearched()
	}
}

// mendTogether verifies habits for all defects together: the fewest of some, and all of these.
func (c *curer) mendTogether(ask askFunc, all partSet, mended []*ailing) *contract.Cure {
	few := fewest.LeaveOut(len(all), func(places []int) (mends, ok bool) {
		picks := fewest.Pick(all, places)
		return !slices.ContainsFunc(mended, func(a *ailing) bool { return !a.mendedWithin(picks) }), true
	})
	why := ""
	for _, picks := range []partSet{fewest.Pick(all, few.Set), all} {
		cure, refused := c.verify(ask, c.together(picks, mended), true, mended...)
		switch {
		case cure != nil:
			cure.Defects = len(mended)
			return cure
		case c.runs.Cut != "":
			return notSearched()
		}
		why = cmp.Or(why, fmt.Sprintf("under %v %s", fewest.Pick(c.habits, picks), refused))
	}
	return &contract.Cure{Why: c.secrets.Text("no habits here mend them together: " + why)}
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
