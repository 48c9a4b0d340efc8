package fault

// waitParams are the parameters of a fault that takes its time.
type waitParams struct {
	Duration string `json:"duration"`
	Message  string `json:"message,omitempty"`
}
