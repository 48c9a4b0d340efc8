// Package behaviour finds out what an agent framework does when the world of its agent breaks, and holds the page
// docs/frameworks.md to that.
//
// A module gives a [Framework]: how to build the plain agent as the framework's documentation has it, over a model
// and three tools ([World]). [Framework.Table] asks the agent one question for each case of each [Column], in a
// process and a bubble of its own, and writes the words of a cell from what was observed alone: which calls reached
// the tools and when, which requests the model got and what they said of the tools, what is in the books of the desk
// afterwards, what the agent returned, and which goroutines it left.
package behaviour

import (
	"context"
	"net/http"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// A World is what the agent under test is given, a fresh one for each question.
type World struct {
	Model http.RoundTripper  // answers the requests of the framework's model client
	Tools chaos.ToolRegistry // look_up, refund and notify; calls meet the faults, with any context
	// AtEnd is told how to end what the framework runs beyond the question, as [Framework].GoesOn says: it is called when
	// a cell of the contract has ended.
	AtEnd func(end func())
}

// An Agent is a plain agent: no retries and no recovery but the framework's own. It is asked one question, and
// builds all that it needs.
type Agent func(ctx context.Context, w World, question string) (string, error)

// A Framework is a row of the table. All fields but the last are required; Streamed only where the framework streams.
type Framework struct {
	Name     string        // as the table has it, such as "openai-go"
	Module   string        // the path of its module, whose version is that of the build list
	Dir      string        // of the test's package, below examples/frameworks
	API      chaoshttp.API // whose wire form its model client speaks
	Target   string        // of its requests to the model, such as "POST api.openai.example/*"
	Ask      Agent
	Streamed Agent // the same, with streamed answers; nil: the framework has none

	// Add says what a user must add, for each column where that is something: "a deadline for each tool call".
	Add map[Column]string
	// Silent says for the maintainers what is lost in silence. Each column whose cell has a silence needs a fact, and
	// no other may have one.
	Silent []Silence
	// GoesOn is what runs on by design when its caller has gone, in place of goroutines that are left: "the workflow goes
	// on"; empty: nothing should.
	GoesOn string
	// RealTime is why the agent cannot run in a bubble of testing/synctest; empty: it runs in one. Times are rounded
	// then, and goroutines are those of the process.
	RealTime string
}

// A Silence is a failure or an effect that the framework lost without a word.
type Silence struct {
	Column Column
	Fact   string // a sentence or two, without the framework's name and version
}
