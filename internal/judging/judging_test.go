package judging_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/judging"
)

// A note goes to the check that asked, and to whoever collects around it; never to another
// check, and nowhere without a collector.
func TestNotesGoOutwards(t *testing.T) {
	judging.Add(t.Context(), judging.Note{Cost: 1}) // does nothing
	around, all := judging.Collect(t.Context())
	type other struct{}
	first, one := judging.Collect(context.WithValue(around, other{}, 1))
	second, two := judging.Collect(around)
	judging.Add(first, judging.Note{})(judging.Note{Judge: "a", Cost: 2}) // answered
	judging.Add(second, judging.Note{Judge: "b", Cost: .5})
	judging.Add(around, judging.Note{Judge: "c"})
	assert.Equal(t, []judging.Note{{Judge: "a", Cost: 2}}, one.All())
	assert.Equal(t, []judging.Note{{Judge: "b", Cost: .5}}, two.All())
	assert.Len(t, all.All(), 3)
	assert.InDelta(t, 2.5, all.Cost(), 1e-9)
}

// A question counts from when it is asked: a judge that never returns has failed.
func TestAQuestionCountsBeforeItsAnswer(t *testing.T) {
	ctx, notes := judging.Collect(t.Context())
	hung := judging.Note{Decide: "It is kind.", Question: 1}
	judging.Add(ctx, hung)
	asked := judging.Note{Decide: "It is kind.", Question: 2}
	answered := judging.Add(ctx, asked)
	early := notes.All()
	assert.Equal(t, []judging.Note{hung, asked}, early)
	assert.Equal(t, judging.Failed, early[1].Outcome)
	asked.Outcome, asked.Judge = judging.Held, "script"
	answered(asked)
	assert.Equal(t, []judging.Note{hung, asked}, notes.All())
	assert.Equal(t, judging.Failed, early[1].Outcome, "a copy")
	judging.Add(context.Background(), asked)(asked) // without notes
}
