package orderdesk

import (
	"time"

	"github.com/shakedown-go/shakedown/contract/habits"
)

// HabitsToTry are the habits of package contract/habits, with waits of this desk's size: its replies take milliseconds.
func HabitsToTry() []*habits.Habit {
	return []*habits.Habit{
		habits.TellFailures(nil), habits.StopWhenPermanent(nil), habits.OneAtATime(nil), habits.RememberReads(nil),
		habits.IdempotencyKeys(nil), habits.Retries(&habits.Options{Wait: 3 * firstWait / 2}),
		habits.LookFirst(&habits.Options{Wait: firstWait}), habits.CheckResults(nil),
		habits.Deadlines(&habits.Options{After: time.Second}),
	}
}
