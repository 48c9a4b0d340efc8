package mutate

import (
	"errors"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError is one problem of the options or of an argument. Several are joined.
type FieldError = scoring.FieldError

const fields fielderror.Package = "mutate"

// ErrRefused is for a [Mutator] to return, wrapped with the reason, if it has no text for
// a prompt that it would stand by. The prompt then stays as it is, and is listed.
var ErrRefused = errors.New("mutate: no text")
