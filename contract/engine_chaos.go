package contract

import (
	"fmt"

	"github.com/shakedown-go/shakedown/scoring"
)

// A chaosTally counts the cells under rules for [Report.Chaos], one after the other in the
// order of the matrix.
type chaosTally struct {
	lastCalm int  // the index of the last calm scenario; -1: there is none
	ruled    bool // there is a scenario with rules

	cells                     map[scoring.Cell]int
	calmBroken, calmUndecided int
	// calm has the calm twins that did not hold: few, so memory does not grow with the
	// number of cells. waiting has the cells of scenarios before the last calm one.
	calm    map[twin]CellState
	waiting map[twin]map[scoring.Cell]int
}

// A twin is what a cell under rules and its calm twin have in common.
type twin struct {
	question  int // prompts and the source of worlds; known answers may differ
	invariant string
	trial     int
}

func newChaosTally(scenarios []*foldScenario) *chaosTally {
	t := &chaosTally{lastCalm: -1, cells: map[scoring.Cell]int{}, calm: map[twin]CellState{},
		waiting: map[twin]map[scoring.Cell]int{}}
	for _, s := range scenarios {
		t.ruled = t.ruled || len(s.Rules) > 0
		if s.calm() {
			t.lastCalm = s.index
		}
	}
	return t
}

// numberQuestions gives each scenario the numbers of what its invariants ask: prompts and the
// source of worlds. Equal numbers are equal questions, and none are 0 alone.
func (e *engine) numberQuestions() (all [][]int) {
	type question struct {
		source  *worldSource
		prompts string
	}
	numbers, questions := map[*promptList]int{}, map[question]int{}
	for _, s := range e.scenarios {
		var own []int
		for _, p := range s.invariants {
			n, known := numbers[p.list]
			if !known {
				q := question{p.list.source, fmt.Sprintf("%q", p.list.prompts)}
				if n, known = questions[q]; !known {
					n = len(questions)
					questions[q] = n
				}
				numbers[p.list] = n
			}
			own = append(own, n)
		}
		all = append(all, own)
	}
	return all
}

// add adds a cell. A nil tally, that of a sequential run, and one without rules count nothing.
func (t *chaosTally) add(r *CellReport, s *foldScenario, at int) {
	if t == nil || !t.ruled {
		return
	}
	key := twin{s.question(at), r.Cell.Invariant, r.Cell.Trial}
	switch {
	case s.calm():
		if r.State == Broken || r.State == Inconclusive && t.calm[key] != Broken {
			t.calm[key] = r.State
		}
	case len(s.Rules) == 0:
	case s.index < t.lastCalm:
		if t.waiting[key] == nil {
			t.waiting[key] = map[scoring.Cell]int{}
		}
		t.waiting[key][r.underRules(s)]++
	default:
		t.count(r.underRules(s), 1, t.calm[key])
	}
}

// underRules is the cell as the chaos score counts it. A prompt that was rewritten is no
// fault of a rule.
func (r *CellReport) underRules(s *foldScenario) scoring.Cell {
	c := r.scored(s)
	if r.Delivered == r.Rewritten && (c.State == Held || c.State == Broken) {
		c.State, c.Violated, c.Delivered = Undelivered, c.State == Broken, 0
	}
	return c
}

// count counts n equal cells whose calm twin is in a state; NotRun: it held, or there is
// none.
func (t *chaosTally) count(c scoring.Cell, n int, calm CellState) {
	switch decided := c.State == Held || c.State == Broken; {
	case decided && calm == Broken:
		add(&t.calmBroken, n)
	case decided && calm == Inconclusive:
		add(&t.calmUndecided, n)
	default:
		t.cells[c] += n
	}
}

// score is the score of all cells; nil if no scenario has rules, or the tally is nil.
func (t *chaosTally) score() (*scoring.ChaosScore, error) {
	if t == nil || !t.ruled {
		return nil, nil
	}
	for key, cells := range t.waiting {
		for c, n := range cells {
			t.count(c, n, t.calm[key])
		}
	}
	list := make([]scoring.Cell, 0, len(t.cells))
	for c, n := range t.cells {
		c.Count = n
		list = append(list, c)
	}
	score, err := scoring.Chaos(list, t.calmBroken, t.calmUndecided)
	return &score, err
}
