package incident

import (
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError is one wrong or missing member of a payload, or one wrong setting,
// such as "event.reason" or "AGENT_TIMEOUT". Where there are several they are
// joined.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("incident")

// errorText is the text of an error; none has "".
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
