package failure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// OfPlan is the problem of a plan that is refused. The places of all errors are JSON
// pointers into the arguments. catalogue is the URI of the resource that has all kinds.
func OfPlan(err error, catalogue string) *Problem {
	var lines []string
	for _, one := range fielderror.Apart(err) {
		var located *planjson.Error
		// the list would be longer than all else
		if errors.As(one, &located) && located.Reason == planjson.UnknownKind {
			short := *located
			_, meant, _ := strings.Cut(short.Allowed, "; did you mean")
			short.Allowed = "a kind of the resource " + catalogue +
				strings.TrimSuffix("; did you mean"+meant, "; did you mean")
			one = &short
		}
		line := strings.TrimPrefix(strings.TrimPrefix(one.Error(), "planjson: "), "chaos: ")
		var wrong *chaos.RuleError
		switch {
		case strings.HasPrefix(line, "/"):
			line = "/plan" + line
		case errors.As(one, &wrong):
			line = fmt.Sprintf("/plan/rules/%d/%s%s: %s", wrong.Index, strings.ToLower(wrong.Field[:1]),
				wrong.Field[1:], line)
		default:
			line = "/plan: " + line
		}
		lines = append(lines, line)
	}
	return BadArguments(strings.Join(lines, "\n"),
		"Correct the plan at these places and apply it again; nothing of it is in force. "+
			"The resource "+catalogue+" has every kind with its parameters.")
}
