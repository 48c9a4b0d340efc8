package policy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is counted of one URI is 1 while the server has the subscription or is
// being asked for it, and 0 otherwise, in every order of the answers.
func TestASubscriptionCountsWhileItIsThereOrAskedFor(t *testing.T) {
	type step struct {
		do   string // ask; accept, refuse: the answer to the oldest request; end: of the subscription; leave: of the session
		want int
	}
	for name, steps := range map[string][]step{
		"accepted":                     {{"ask", 1}, {"accept", 1}, {"end", 0}, {"end", 0}},
		"refused":                      {{"ask", 1}, {"refuse", 0}, {"ask", 1}, {"accept", 1}},
		"again, refused":               {{"ask", 1}, {"accept", 1}, {"ask", 1}, {"refuse", 1}, {"end", 0}},
		"two at once, the first":       {{"ask", 1}, {"ask", 1}, {"accept", 1}, {"refuse", 1}, {"end", 0}},
		"two at once, the second":      {{"ask", 1}, {"ask", 1}, {"refuse", 1}, {"accept", 1}, {"end", 0}},
		"two at once, neither":         {{"ask", 1}, {"ask", 1}, {"refuse", 1}, {"refuse", 0}},
		"ended while asked for":        {{"ask", 1}, {"accept", 1}, {"ask", 1}, {"end", 1}, {"refuse", 0}},
		"the session ended meanwhile":  {{"ask", 1}, {"leave", 0}, {"refuse", 0}},
		"the session ended, then made": {{"ask", 1}, {"leave", 0}, {"accept", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSessions(&Options{})
			forget := s.own("a", "ann")
			var asked []func(bool)
			for i, step := range steps {
				switch step.do {
				case "ask":
					done, refusal := s.watch("a", "books://1")
					require.Nil(t, refusal)
					asked = append(asked, done)
				case "accept", "refuse":
					asked[0](step.do == "accept")
					asked = asked[1:]
				case "end":
					s.unwatch("a", "books://1")
				case "leave":
					forget()
				}
				assert.Equal(t, []int{step.want, step.want}, []int{s.watched.all, s.watched.of["ann"]}, "after %d: %s", i, step.do)
			}
		})
	}
}
