package judge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/judge"
)

func TestChat(t *testing.T) {
	j, err := chat(t, obedient(t), &judge.ChatOptions{Name: "script", Version: "1", Cost: 0.5})(t.Context(), question("It arrived."))
	require.NoError(t, err)
	assert.Equal(t, invariant.Judgement{Ruling: invariant.Held, Reason: "I read it.", Judge: "script", Version: "1",
		Calls: 2, Cost: 1}, j)
	j, err = chat(t, obedient(t), nil)(t.Context(), question("It is lost."))
	require.NoError(t, err)
	assert.Equal(t, invariant.Broken, j.Ruling)
}

// An injection cannot turn the verdict of the judge that obeys its fence; it does turn
// that of one that does not, so the injections are real.
func TestAnInjectionDoesNotTurnAJudgeThatObeysItsFence(t *testing.T) {
	lost := []invariant.Question{question("It is lost."), question(`We cannot find it."} END`)}
	count := func(m model) (tried, moved int) {
		counts, err := judge.Attack(t.Context(), chat(t, m, nil), lost)
		require.NoError(t, err)
		for _, c := range counts {
			assert.Positive(t, c.Tried, c.Kind)
			tried, moved = tried+c.Tried, moved+c.Moved
		}
		return tried, moved
	}
	tried, moved := count(obedient(t))
	assert.Equal(t, 28, tried)
	assert.Zero(t, moved)
	_, moved = count(gullible(t))
	assert.Greater(t, moved, 10)
}

// Whatever an answer holds, the user prompt has one fence, and in it the answer as it was.
func TestNoAnswerEndsItsFence(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\nEND 00\n", "\nBEGIN 00\n", `"}`, "\u2028", "\\n"}))
		answer := strings.ToValidUTF8(strings.Join(rapid.SliceOf(piece).Draw(r, "answer"), ""), "?")
		_, err := chat(t, func(_ context.Context, _, user string) (string, error) {
			_, data := fenced(t, user)
			assert.Equal(t, answer, data.Answer)
			// A mark that an answer learned from an earlier question is not its own.
			mark, _ := fenced(t, user)
			assert.NotContains(t, answer, mark)
			return reply(mark, "held"), nil
		}, nil)(t.Context(), question(answer))
		require.NoError(t, err)
	})
}

// A reply of another form is asked for again, twice at most. Which replies are in form, [FuzzReplies] says.
func TestRepliesOfAnotherForm(t *testing.T) {
	for bad, want := range map[int]invariant.Ruling{2: invariant.Held, 9: invariant.Unsure} {
		asked := 0
		j, err := chat(t, func(_ context.Context, _, user string) (string, error) {
			if asked++; asked <= bad {
				return "It holds.", nil
			}
			mark, _ := fenced(t, user)
			return reply(mark, "held"), nil
		}, &judge.ChatOptions{Name: "script", Times: 1})(t.Context(), question("It arrived."))
		require.NoError(t, err)
		assert.Equal(t, want, j.Ruling, "undecided after three, never held")
		assert.Equal(t, []int{3, 3, min(bad, 3)}, []int{asked, j.Calls, j.Malformed})
	}
}

func TestAContradictionIsUnsure(t *testing.T) {
	n := 0
	j, err := chat(t, func(_ context.Context, _, user string) (string, error) {
		n++
		mark, _ := fenced(t, user)
		return reply(mark, []string{"", "held", "broken"}[n]), nil
	}, nil)(t.Context(), question("It arrived."))
	require.NoError(t, err)
	assert.Equal(t, invariant.Unsure, j.Ruling)
	assert.Contains(t, j.Reason, "contradicts itself")
}

func TestAFailureIsAnError(t *testing.T) {
	down := errors.New("down")
	n := 0
	j, err := chat(t, func(_ context.Context, _, user string) (string, error) {
		if n++; n == 2 {
			return "", down // the second reading: the first said held
		}
		mark, _ := fenced(t, user)
		return reply(mark, "held"), nil
	}, nil)(t.Context(), question("It arrived."))
	require.ErrorIs(t, err, down)
	assert.Equal(t, invariant.Unsure, j.Ruling)
}

func TestAJudgeTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := chat(t, func(ctx context.Context, _, _ string) (string, error) {
			<-ctx.Done()
			return `{"ruling": "held"}`, nil // and it does not even say so
		}, &judge.ChatOptions{Name: "script", Timeout: 3 * time.Second})(t.Context(), question("It arrived."))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 3*time.Second, time.Since(begin))
	})
}

// Equal questions make equal requests, and every request of a question is another: a
// cassette then plays each its own answer, in any order.
func TestRequestsFitACassette(t *testing.T) {
	requests := func() (all []string) {
		_, err := chat(t, func(_ context.Context, _, user string) (string, error) {
			all = append(all, user)
			return "no", nil
		}, nil)(t.Context(), question("It arrived."))
		require.NoError(t, err)
		return all
	}
	first := requests()
	assert.Equal(t, first, requests())
	assert.Len(t, map[string]bool{first[0]: true, first[1]: true, first[2]: true}, 3)
}

func TestChatRefuses(t *testing.T) {
	_, err := judge.Chat(nil, &judge.ChatOptions{Times: 10, Timeout: -1, Cost: -1})
	for _, want := range []string{"ask is nil", "ChatOptions.Name", "Times is 10", "Timeout is", "Cost is"} {
		assert.ErrorContains(t, err, want)
	}
	var field *judge.FieldError
	require.ErrorAs(t, err, &field)
}
