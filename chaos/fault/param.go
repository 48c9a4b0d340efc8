package fault

// waitParams are the parameters of a fault with a duration.
type waitParams struct {
	Duration string `json:"duration"`
	Message  string `json:"message,omitempty"`
}
