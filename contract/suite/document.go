package suite

import "time"

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
	Cassette          string         `json:"cassette,omitempty" doc:"the file with the recorded HTTP exchanges"`
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
}

type mutationsPart struct {
	Types []string `json:"types,omitempty" doc:"kinds and groups of kinds; left out: all"`
	Count int      `json:"count,omitempty" bounds:"min=1,max=1000" doc:"variants of each kind; left out: 1"`
}

type replaysPart struct {
	Sessions part `json:"sessions" doc:"the sessions, by file or in place"`
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

// instead says what to write in place of keys that the layout has elsewhere, and that are
// not read here, behind the key in whose value they stand.
var instead = map[string]string{
	"/model":        "none: a model rewords prompts with mutate.Model, in Options.Mutators",
	"/output":       "none: package report writes reports, and contracttest has Options.Reports",
	"/chaos_matrix": "scenarios in contract/chaos_matrix",
	"/chaos":        "a scenario of contract/chaos_matrix",
	"/invariants":   "invariants in contract/invariants, of which scenarios says where they are asked",

	"agent/query_params":           "none: write the query into endpoint",
	"agent/parse_structured_input": "none: {prompt} is the whole prompt",
	"agent/reset_function":         "reset_endpoint, or a world made in Go",

	"mutations/custom_templates":   "none: write a mutate.Mutator and give it in Options.Mutators",
	"mutations/weights":            "none: mutate.Options.Weights, of a matrix made in Go",
	"replays/sources":              "none: dialect.Import reads traces of other systems; list its sessions",
	"scoring/weights":              "the four weights themselves",
	"advanced/retries":             "none: what is retried is the agent's affair",
	"advanced/concurrency":         "none: Workers of the options of a run",
	"invariants/dangerous_prompts": "probes, the prompts that must be refused",

	"tool_faults/match_url":         "a rule whose target has the URL, such as GET api.shop.test/*",
	"llm_faults/severity":           "drift_type alone",
	"llm_faults/direction":          "drift_type alone",
	"llm_faults/factor":             "drift_type alone",
	"context_attacks/inject_tokens": "a rule with the fault oversized_messages",
	"context_attacks/inject_at":     "none: the prompt is what is changed",
}
