package replay

import (
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError is one problem of a session, an option or a file, such as
// "/calls/3/error/status" with its line and column. Several are joined.
type FieldError = scoring.FieldError

const fields = fielderror.Package("replay")
