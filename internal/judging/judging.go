// Package judging carries what judges ruled from the checks of a run to its report. A
// check runs under a context of [Collect]; whoever asks a judge there calls [Add] first.
package judging

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// An Outcome is what came of one question.
type Outcome uint8

// The outcomes.
const (
	Failed Outcome = iota // the judge returned an error, nothing that counts, or not at all
	Held
	Broken
	Unsure
)

// NameOf is how texts name a judge, which may have no name and no version.
func NameOf(judge, version string) string {
	judge = cmp.Or(judge, "a judge without a name")
	if version != "" {
		judge += " version " + version
	}
	return judge
}

// A Note is one question to a judge, and what came of it.
type Note struct {
	Judge, Version string
	Decide         string // the sentence
	Outcome        Outcome
	Calls          int // of the model
	Malformed      int // replies
	Dissent        int // members of a panel that ruled otherwise
	Cached         bool
	Cost           float64
	Question       uint64 // a hash: equal questions have equal ones
}

// Notes are those of one check, or of whatever has a context of Collect. They are safe for
// concurrent use.
type Notes struct {
	outer *Notes // those of the context around it; nil: there is none
	mu    sync.Mutex
	list  []Note
}

// All returns a copy of the notes so far.
func (n *Notes) All() []Note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// Cost is the sum of what the judgements so far have cost.
func (n *Notes) Cost() (cost float64) {
	for _, note := range n.All() {
		cost += note.Cost
	}
	return cost
}

type key struct{}

// collecting is a context with its notes, in one allocation.
type collecting struct {
	context.Context
	notes Notes
}

func (c *collecting) Value(asked any) any {
	if _, ok := asked.(key); ok {
		return &c.notes
	}
	return c.Context.Value(asked)
}

// Collect returns a context to which Add adds notes. If ctx is one of Collect, or made from
// one, its notes get them too.
func Collect(ctx context.Context) (context.Context, *Notes) {
	c := &collecting{Context: ctx}
	c.notes.outer, _ = ctx.Value(key{}).(*Notes)
	return c, &c.notes
}

// Add adds a question that a judge is asked now, and returns what to call when it is
// answered. Until then it counts as it is: [Failed], in its zero value, as of a judge that
// never returns. Without notes in the context nothing is added.
func Add(ctx context.Context, asked Note) (answered func(Note)) {
	var all []func(Note)
	n, _ := ctx.Value(key{}).(*Notes)
	for ; n != nil; n = n.outer {
		all = append(all, n.add(asked))
	}
	return func(came Note) {
		for _, answered := range all {
			answered(came)
		}
	}
}

func (n *Notes) add(asked Note) (answered func(Note)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := len(n.list)
	n.list = append(n.list, asked)
	return func(came Note) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.list[i] = came
	}
}
