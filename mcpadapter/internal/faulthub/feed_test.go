package faulthub

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
)

func TestAFeedServesSeveralAndForgetsThoseThatLeave(t *testing.T) {
	var f Feed
	f.Record(chaos.Event{Delivered: true}) // nobody listens
	one, leaveOne := f.listen()
	two, leaveTwo := f.listen()
	f.Record(chaos.Event{Delivered: true, Rule: "a"})
	f.Record(chaos.Event{Rule: "not delivered"})
	leaveOne()
	f.Record(chaos.Event{Delivered: true, Rule: "b"})
	leaveTwo()
	f.Record(chaos.Event{Delivered: true, Rule: "c"})
	assert.Len(t, one.events, 1)
	assert.Len(t, two.events, 2)
	assert.Zero(t, f.Dropped())
}

// Events from before the end arrive, those that did not fit are counted.
func TestFollowing(t *testing.T) {
	var f Feed
	end := make(chan struct{})
	var sunk []string
	var lost uint64
	run := f.Follow(end, func(e chaos.Event) { sunk = append(sunk, e.Rule) }, func(n uint64) { lost += n })
	for range Queued + 3 {
		f.Record(chaos.Event{Delivered: true, Rule: "r"})
	}
	close(end)
	run()
	f.Record(chaos.Event{Delivered: true, Rule: "after the end"})
	assert.Len(t, sunk, Queued)
	assert.EqualValues(t, 3, lost)
	assert.EqualValues(t, 3, f.Dropped())
}
