package faulthub

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
)

// Events from before the end arrive, those that did not fit are counted.
func TestTheQueueIsBounded(t *testing.T) {
	q := NewQueue()
	end := make(chan struct{})
	q.Record(t.Context(), chaos.Event{Rule: "not delivered"})
	for range Queued + 3 {
		q.Record(t.Context(), chaos.Event{Delivered: true, Rule: "r"})
	}
	close(end)
	var sunk, lost uint64
	q.Run(end, func(chaos.Event) { sunk++ }, func(n uint64) { lost += n })
	assert.EqualValues(t, Queued, sunk)
	assert.EqualValues(t, 3, lost)
	assert.EqualValues(t, 3, q.Dropped())
}
