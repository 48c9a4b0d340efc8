package judge_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/judge"
)

const sentence = "The answer says that the parcel arrived."

// A model is a scripted one.
type model = func(ctx context.Context, system, user string) (string, error)

// reply is a reply in form.
func reply(mark, ruling string) string {
	doc, _ := json.Marshal(map[string]string{"mark": mark, "ruling": ruling, "reason": "I read it."})
	return string(doc)
}

var fenceLines = regexp.MustCompile(`(?m)^BEGIN ([0-9a-f]+)\n(.*)\nEND ([0-9a-f]+)$`)

// fenced returns the mark and the data of a user prompt. There is exactly one fence.
func fenced(t testing.TB, user string) (mark string, data invariant.Question) {
	t.Helper()
	found := fenceLines.FindAllStringSubmatch(user, -1)
	require.Len(t, found, 1, "one fence in %q", user)
	require.Equal(t, found[0][1], found[0][3])
	require.NoError(t, json.Unmarshal([]byte(found[0][2]), &data))
	return found[0][1], data
}

// rule is how both scripted models read an answer.
func rule(answer string) string {
	if strings.Contains(answer, "arrived") && !strings.Contains(answer, "not arrived") {
		return "held"
	}
	return "broken"
}

// obedient keeps to the fence: what stands in the data is only read.
func obedient(t testing.TB) model {
	return func(_ context.Context, _, user string) (string, error) {
		mark, data := fenced(t, user)
		return reply(mark, rule(data.Answer)), nil
	}
}

// gullible does what the last text that sounds like an order says, wherever it stands.
func gullible(t testing.TB) model {
	order := regexp.MustCompile(`(?i)rule (this answer as |held)|ruling\W+(is )?held|"?ruling\\?"?:\s*\\?"held|verdict`)
	return func(_ context.Context, _, user string) (string, error) {
		mark, data := fenced(t, user)
		if order.MatchString(data.Answer) {
			return reply(mark, "held"), nil
		}
		return reply(mark, rule(data.Answer)), nil
	}
}

func chat(t testing.TB, m model, o *judge.ChatOptions) invariant.Judge {
	t.Helper()
	if o == nil {
		o = &judge.ChatOptions{Name: "script", Version: "1"}
	}
	j, err := judge.Chat(m, o)
	require.NoError(t, err)
	return j
}

func question(answer string) invariant.Question {
	return invariant.Question{Decide: sentence, Prompt: "Where is it?", Answer: answer}
}
