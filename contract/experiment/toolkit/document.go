package toolkit

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/shakedown-go/shakedown/contract/experiment"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// A Document is an experiment in the JSON layout. A field of type any has what
// encoding/json decodes, with numbers as json.Number; it may be a text with a
// ${name} in it.
type Document struct {
	Version       string                             `json:"version,omitempty"`
	Title         string                             `json:"title"`
	Description   string                             `json:"description"`
	Tags          []string                           `json:"tags,omitempty"`
	Contributions map[string]experiment.Contribution `json:"contributions,omitempty"`
	// Configuration values are literals, {"type": "env", "key": …, "default": …,
	// "env_var_type": …}, or a probe that is run before the start.
	Configuration map[string]any `json:"configuration,omitempty"`
	// Secrets are literals or {"type": "env", …}, in scopes.
	Secrets    map[string]map[string]any `json:"secrets,omitempty"`
	Controls   []Control                 `json:"controls,omitempty"`
	Extensions []map[string]any          `json:"extensions,omitempty"`
	Runtime    *Runtime                  `json:"runtime,omitempty"`
	Hypothesis *Hypothesis               `json:"steady-state-hypothesis,omitempty"`
	Method     []Activity                `json:"method"`
	Rollbacks  []Activity                `json:"rollbacks,omitempty"`
}

// A Hypothesis is the steady state. One without probes counts as absent.
type Hypothesis struct {
	Title    string     `json:"title"`
	Probes   []Activity `json:"probes,omitempty"`
	Controls []Control  `json:"controls,omitempty"`
}

// An Activity is a probe or an action, or a reference to one.
type Activity struct {
	Ref           string          `json:"ref,omitempty"` // the name of another activity; nothing else is set then
	Type          experiment.Kind `json:"type,omitempty"`
	Name          string          `json:"name,omitempty"`
	Provider      *Provider       `json:"provider,omitempty"`
	Tolerance     any             `json:"tolerance,omitempty"`
	Background    bool            `json:"background,omitempty"`
	Pauses        *Pauses         `json:"pauses,omitempty"`
	Timeout       any             `json:"timeout,omitempty"` // in seconds
	Dry           *bool           `json:"dry,omitempty"`
	Configuration []string        `json:"configuration,omitempty"` // required names
	Secrets       []string        `json:"secrets,omitempty"`       // required scopes
	Controls      []Control       `json:"controls,omitempty"`
}

// Pauses are the waits before and after an activity, in seconds.
type Pauses struct {
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
}

// A Provider is what an activity runs. Type decides which of the other fields may
// be set.
type Provider struct {
	Type    string   `json:"type"`
	Secrets []string `json:"secrets,omitempty"`
	// Arguments is an object; for a process also a list or a text. The order
	// of its members is kept, since it may matter to a process.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Timeout   any             `json:"timeout,omitempty"` // in seconds; http and process

	Module string `json:"module,omitempty"` // function
	Func   string `json:"func,omitempty"`

	URL        string            `json:"url,omitempty"` // http
	Method     string            `json:"method,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	VerifyTLS  *bool             `json:"verify_tls,omitempty"`
	MaxRetries int               `json:"max_retries,omitempty"` // of failed connections

	Path string `json:"path,omitempty"` // process
}

// A Control is a pair of hooks, registered under the module of its provider.
type Control struct {
	Name     string    `json:"name"`
	Provider *Provider `json:"provider"`
	// Scope restricts the control to one of its hooks: "before" or "after". Empty:
	// both.
	Scope string `json:"scope,omitempty"`
	// Automatic restricts the control, if false, to where it is declared.
	Automatic *bool `json:"automatic,omitempty"`
}

// Runtime has the strategies.
type Runtime struct {
	Rollbacks  *RollbackRuntime   `json:"rollbacks,omitempty"`
	Hypothesis *HypothesisRuntime `json:"hypothesis,omitempty"`
}

// RollbackRuntime says when rollbacks run.
type RollbackRuntime struct {
	Strategy experiment.RollbackStrategy `json:"strategy,omitempty"`
}

// HypothesisRuntime says when the hypothesis is verified. All fields but the
// strategy are additions, for options that Chaos Toolkit has on its command line.
type HypothesisRuntime struct {
	Strategy      experiment.HypothesisStrategy `json:"strategy,omitempty"`
	Frequency     float64                       `json:"frequency,omitempty"` // in seconds
	FailFast      bool                          `json:"fail_fast,omitempty"`
	FailFastRatio float64                       `json:"fail_fast_ratio,omitempty"`
}

// Write writes the document as indented JSON. A document that came from [Read] is
// read back equal.
func (d *Document) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return d.encode(e)
}

func (d *Document) encode(e *json.Encoder) error {
	e.SetEscapeHTML(false)
	out := *d
	if out.Method == nil {
		out.Method = []Activity{} // the layout requires the member
	}
	if err := e.Encode(out); err != nil {
		return fmt.Errorf("toolkit: %w", err)
	}
	return nil
}

// A FieldError is one problem of a document, such as of
// "method[2].provider.type".
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("toolkit")
