package suite

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// A document is a file as it is written. Parts are read later, with tables of their own.
type document struct {
	Version           string         `json:"version" bounds:"enum=2.0" doc:"the version of the layout: 2.0"`
	Agent             *agentPart     `json:"agent,omitempty" doc:"the agent, where Go gives no worlds"`
	Points            []string       `json:"points,omitempty" doc:"injection points besides tools"`
	Prompts           []string       `json:"golden_prompts,omitempty" doc:"what the agent is asked"`
	Trials            int            `json:"trials,omitempty" bounds:"min=1,max=100000" doc:"how often each cell is run; left out: once"`
	AllowInconclusive int            `json:"allow_inconclusive,omitempty" bounds:"min=1,max=1000000000" doc:"how many cells of a matrix may be inconclusive; left out: none"`
	Share             bool           `json:"share,omitempty" doc:"invariants judge the same runs"`
	Timeout           time.Duration  `json:"timeout,omitempty" bounds:"min=1ms" doc:"limit of an answer, such as 30s"`
	Contract          contractPart   `json:"contract" doc:"what must stay true, and under which faults"`
	Mutations         *mutationsPart `json:"mutations,omitempty" doc:"prompts in other words"`
	Replays           *replaysPart   `json:"replays,omitempty" doc:"sessions that are played"`
	Scoring           part           `json:"scoring,omitempty" doc:"weights of the four parts; left out: 0.2, 0.35, 0.35, 0.1"`
	Advanced          advancedPart   `json:"advanced,omitempty" doc:"the seed"`
}

type contractPart struct {
	Name        string `json:"name" doc:"appears in reports; sessions name it"`
	Description string `json:"description,omitempty" doc:"appears in reports"`
	Invariants  part   `json:"invariants" doc:"what must stay true"`
	Scenarios   part   `json:"chaos_matrix" doc:"the scenarios"`
}

type agentPart struct {
	Type          string            `json:"type,omitempty" bounds:"enum=http" doc:"http"`
	Endpoint      string            `json:"endpoint" doc:"where prompts are posted"`
	Method        string            `json:"method,omitempty" bounds:"enum=POST" doc:"POST"`
	Template      string            `json:"request_template,omitempty" doc:"the body, with {prompt} in it"`
	ResponsePath  string            `json:"response_path,omitempty" doc:"the answer in the response, such as $.output"`
	Headers       map[string]string `json:"headers,omitempty" doc:"sent with each request"`
	Timeout       int               `json:"timeout,omitempty" bounds:"min=1,max=1000000000" doc:"limit of an answer, in milliseconds"`
	ResetEndpoint string            `json:"reset_endpoint,omitempty" doc:"posted to before each cell"`
	Proxies       []proxyPart       `json:"proxies,omitempty" doc:"in front of its tools and of its model"`
	Tools         []toolPart        `json:"tools,omitempty" doc:"what is known of tools behind the proxies"`
	State         *statePart        `json:"state,omitempty" doc:"the state of its world"`
}

type proxyPart struct {
	Listen string            `json:"listen" doc:"the address that the agent is given, as host:port"`
	To     string            `json:"to" doc:"the address of the tools or of the model"`
	Point  string            `json:"point" doc:"the injection point of requests to other paths"`
	Paths  map[string]string `json:"paths,omitempty" doc:"injection points of paths"`
}

type toolPart struct {
	Name           string       `json:"name" doc:"an injection point in paths"`
	Effect         chaos.Effect `json:"effect,omitempty" bounds:"enum=none|done|unknown" doc:"what a successful call does; left out: unknown"`
	IdempotencyKey string       `json:"idempotencyKey,omitempty" doc:"a JSON pointer to the argument by which it knows a repeated request"`
}

type statePart struct {
	URL string `json:"url" doc:"asked by GET, answers JSON"`
}

type mutationsPart struct {
	Types []string `json:"types,omitempty" doc:"kinds and groups of kinds; left out: all"`
	Count int      `json:"count,omitempty" bounds:"min=1,max=1000" doc:"variants of each kind; left out: 1"`
}

type replaysPart struct {
	Sessions part `json:"sessions" doc:"the sessions, each a file"`
}

type advancedPart struct {
	Seed uint64 `json:"seed,omitempty" doc:"seed of every random number"`
}

type scoringPart struct {
	Mutation float64 `json:"mutation,omitempty"`
	Chaos    float64 `json:"chaos,omitempty"`
	Contract float64 `json:"contract,omitempty"`
	Replay   float64 `json:"replay,omitempty"`
}
