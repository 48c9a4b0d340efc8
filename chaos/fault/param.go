package fault

import "time"

// wait are the parameters of a fault with a duration.
type wait struct {
	Duration time.Duration `json:"duration" bounds:"min=0" doc:"time until the caller learns of it"`
}

// waitParams are the parameters of a fault with a duration.
type waitParams struct {
	Duration string `json:"duration"`
	Message  string `json:"message,omitempty"`
}
