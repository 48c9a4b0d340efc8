package repocheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A listed package is what "go list -deps -json" prints of it, without the imports of
// tests.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string // the direct and indirect imports
}

// An edge is a forbidden import.
type edge struct {
	from   []string // our packages, by folder; "/..." includes all below
	except []string
	to     []string // our folders, import paths of others, or thirdParty
	direct bool     // applies to the package's direct imports only
	reason string
}

const thirdParty = "third-party modules"

var forbidden = []edge{
	{from: []string{"chaos/..."}, except: []string{"chaos/chaosgrpc", "chaos/chaosotel/..."}, to: []string{thirdParty},
		reason: "whoever wraps production code with chaos compiles the standard library alone"},
	{from: []string{"chaos"}, to: []string{"chaos/*"},
		reason: "chaos is the ground: it knows faults and triggers through its interfaces, never a concrete one"},
	{from: []string{"chaos/..."}, except: []string{"chaos/chaosotel/otelmatrix"}, to: []string{"scoring/...", "contract/...", "mcpadapter/..."},
		reason: "imports point down: breaking things knows nothing of judging them"},
	{from: []string{"chaos/chaoshttp/modeltest"}, to: []string{"chaos/..."},
		reason: "a scripted model shares no code with the faults that are tried on it"},
	{from: []string{"scoring/..."}, to: []string{".", "chaos/...", "contract/...", "mcpadapter/..."},
		reason: "scores are pure functions of their arguments, usable without anything of ours but internal"},
	{from: []string{"scoring/..."}, except: []string{"scoring/stats"}, to: []string{"scoring"},
		reason: "only statistics share the intervals of scores"},
	{from: []string{"scoring/stats"}, to: []string{thirdParty},
		reason: "statistics are arithmetic"},
	{from: []string{"scoring"}, to: []string{thirdParty},
		reason: "a score is arithmetic"},
	{from: []string{"contract"}, to: []string{"contract/*"},
		reason: "imports point down: the engine knows invariants, reports and test skins through its own types"},
	{from: []string{"contract/contracttest"}, to: []string{"contract/replay/...", "contract/findings", "contract/cassette/...", "contract/invariant"},
		reason: "a test of one function compiles no reader of traces: it is told how to save a session"},
	{from: []string{"contract/findings"}, to: []string{".", "chaos/*", "scoring/...", "contract", "contract/*", "net/http", thirdParty},
		reason: "it stands below contract/invariant, and who reads traces compiles neither an HTTP client nor the engine"},
	{from: []string{"contract/contracttest"}, to: []string{"contract/replay/dialect"},
		reason: "a test that saves its failures reads no traces of others"},
	{from: []string{"contract/..."}, to: []string{"mcpadapter/..."},
		reason: "imports point down: the adapter stands on the library, not in it"},
	{from: []string{"internal/..."}, except: []string{"internal/repocheck"},
		to:     []string{".", "chaos/...", "scoring/...", "contract/...", "mcpadapter/..."},
		reason: "internal packages are leaves that every room may use"},
	{from: []string{"/..."}, except: []string{"contract/contracttest", "internal/golden", "examples/..."}, to: []string{"testing"},
		reason: "testing registers flags and belongs in test binaries; contracttest is the one skin over it"},
	{from: []string{"/..."}, except: []string{"contract/contracttest", "internal/golden", "examples/..."}, direct: true,
		to:     []string{"testing/*", "github.com/stretchr/testify/..."},
		reason: "what only tests need must not reach a user's build"},
	{from: []string{"/..."}, except: []string{"contract/suite", "mcpadapter/...", "examples/..."}, direct: true, to: []string{"go.yaml.in/yaml/..."},
		reason: "contracts in files are the one part of the library that reads YAML"},
	{from: []string{"/..."}, to: []string{"pgregory.net/rapid", "go.uber.org/goleak"},
		reason: "these are for our own tests"},
	{from: []string{"/..."}, except: []string{"mcpadapter/...", "examples/..."}, to: []string{"github.com/modelcontextprotocol/go-sdk/..."},
		reason: "mcpadapter keeps the protocol's library away from everyone who does not serve MCP"},
	{from: []string{"/..."}, except: []string{"contract/fleet/...", "examples/..."}, to: []string{"github.com/nats-io/..."},
		reason: "contract/fleet keeps the client of NATS away from everyone whose matrix fits one machine"},
	{from: []string{"/..."}, except: []string{"chaos/chaosgrpc", "examples/..."}, to: []string{"google.golang.org/grpc/..."},
		reason: "chaos/chaosgrpc keeps gRPC away from everyone whose agent does not speak it"},
	{from: []string{"/..."}, except: []string{"chaos/chaosotel/...", "examples/..."}, to: []string{"go.opentelemetry.io/..."},
		reason: "chaos/chaosotel keeps OpenTelemetry away from everyone who does not watch"},
	{from: []string{"contract/fleet"}, to: []string{"github.com/nats-io/nats-server/..."},
		reason: "who has a cluster of NATS compiles no server"},
}

// The modules that users require, by their folder.
var published = []string{".", "chaos/chaosgrpc", "chaos/chaosotel", "contract/fleet", "contract/fleet/embedded", "mcpadapter"}

// The requirements of the published modules, which every user of one inherits.
var allowedRequirements = map[string]map[string]string{
	".": {
		"github.com/stretchr/testify":             "contracttest's assertions and our tests",
		"golang.org/x/sync":                       "bounded concurrency",
		"github.com/HdrHistogram/hdrhistogram-go": "percentiles of a timeline, mergeable; compiles the standard library alone",
		"github.com/sergi/go-diff":                "similarity of answers",
		"github.com/google/jsonschema-go":         "schemas of answers and reports",
		"go.yaml.in/yaml/v3":                      "contract/suite reads contracts in YAML; testify brings it anyway",
		"pgregory.net/rapid":                      "property tests",
		"go.uber.org/goleak":                      "leak checks in tests",
	},
	"chaos/chaosgrpc": {
		module:                        "the injection points",
		"google.golang.org/grpc":      "the interceptors",
		"google.golang.org/protobuf":  "messages and their JSON",
		"github.com/stretchr/testify": "our tests",
		"pgregory.net/rapid":          "property tests",
		"go.uber.org/goleak":          "leak checks in tests",
	},
	"chaos/chaosotel": {
		module:                                "the events and runs that it shows",
		"go.opentelemetry.io/otel":            "the API",
		"go.opentelemetry.io/otel/metric":     "the API",
		"go.opentelemetry.io/otel/trace":      "the API",
		"go.opentelemetry.io/otel/sdk":        "our tests",
		"go.opentelemetry.io/otel/sdk/metric": "our tests",
		"github.com/stretchr/testify":         "our tests",
	},
	"contract/fleet": {
		module:                       "the matrix that is spread",
		"github.com/nats-io/nats.go": "leases and transport",
	},
	"contract/fleet/embedded": {
		module:                              "errors of options",
		module + "/contract/fleet":          "its tests need the server",
		"github.com/nats-io/nats-server/v2": "the server",
		"github.com/nats-io/nats.go":        "its tests connect",
		"github.com/stretchr/testify":       "our tests",
	},
	"mcpadapter": {
		module:                                   "the library that the tools call",
		"github.com/modelcontextprotocol/go-sdk": "the protocol",
		"github.com/google/jsonschema-go":        "schemas of tools; the SDK brings it anyway",
		"go.yaml.in/yaml/v3":                     "manifests in YAML; testify brings it anyway",
		"github.com/stretchr/testify":            "our tests",
		"pgregory.net/rapid":                     "property tests",
		"go.uber.org/goleak":                     "leak checks in tests",
	},
}

func TestImportsPointDown(t *testing.T) {
	for _, problem := range wrongEdges(listPackages(t), forbidden) {
		t.Error(problem)
	}
}

func TestForbiddenEdgesAreSeen(t *testing.T) {
	std := listed{ImportPath: "testing", Standard: true}
	for _, tc := range []struct {
		dir, dep string
		want     int
	}{
		{"chaos", module + "/internal/hash", 0},
		{"chaos", "golang.org/x/sync/errgroup", 1},
		{"chaos", module + "/chaos/fault", 1},
		{"chaos/planjson", module + "/chaos/fault", 0},
		{"chaos/chaosgrpc", "google.golang.org/grpc/status", 0},
		{"contract", "google.golang.org/grpc/status", 1},
		{"scoring/timeline", "example.com/sketch", 0},
		{"scoring/stats", "example.com/sketch", 1},
		{"contract", module + "/contract/report", 1},
		{"contract/findings", "net/http", 1},
		{"contract/report", "testing", 1},
		{"contract/contracttest", "testing", 0},
		{"contract/trace", "github.com/modelcontextprotocol/go-sdk/mcp", 1},
		{"internal/glob", "pgregory.net/rapid", 1},
		{".", "testing", 1},
	} {
		deps := []string{tc.dep}
		pkg := listed{ImportPath: path.Join(module, tc.dir), Imports: deps, Deps: deps}
		assert.Len(t, wrongEdges([]listed{std, pkg}, forbidden), tc.want, "%s imports %s", tc.dir, tc.dep)
	}
}

func TestRequirementsOfTheModules(t *testing.T) {
	line := regexp.MustCompile(`(?m)^(?:require|\t)\s*([^\s()]+) v\S+$`) // a direct one has no "// indirect"
	for _, dir := range published {
		text, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
		require.NoError(t, err)
		found := line.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, found)
		for _, m := range found {
			assert.Contains(t, allowedRequirements[dir], m[1], "%s/go.mod requires %s directly; every user would inherit it", dir, m[1])
		}
		assert.NotRegexp(t, `(?m)^(tool|exclude)\b`, string(text), "a tool raises users' dependencies; it belongs in internal/tools")
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	assert.NotRegexp(t, `(?m)^replace\b`, string(text), "a replace of the root does not reach users")
}

// listPackages returns the packages of all modules of go.work and all their direct and
// indirect imports, as the go command lists them.
func listPackages(t *testing.T) []listed {
	return goList[listed](t, root, "-deps", "-json=ImportPath,Standard,Imports,Deps", "work")
}

// goList runs go list in a folder.
func goList[T any](t *testing.T, dir string, args ...string) (all []T) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, "go list: %s", &problems)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var one T
		require.NoError(t, dec.Decode(&one))
		all = append(all, one)
	}
	return all
}

// wrongEdges returns a line for every import that a rule forbids.
func wrongEdges(pkgs []listed, rules []edge) []string {
	standard := make(map[string]bool)
	for _, p := range pkgs {
		standard[p.ImportPath] = p.Standard
	}
	foreign := func(p string) bool { return !within(p, module) && !standard[p] && strings.Contains(p, ".") }
	var problems []string
	for _, p := range pkgs {
		for _, rule := range rules {
			for _, to := range rule.judged(p) {
				if matchesAny(rule.to, to) || foreign(to) && slices.Contains(rule.to, thirdParty) {
					problems = append(problems, fmt.Sprintf("%s imports %s: %s", p.ImportPath, to, rule.reason))
				}
			}
		}
	}
	return problems
}

// judged returns the imports of p that the rule applies to.
func (e edge) judged(p listed) []string {
	switch {
	case !within(p.ImportPath, module), !matchesAny(e.from, p.ImportPath), matchesAny(e.except, p.ImportPath):
		return nil
	case e.direct:
		return p.Imports
	}
	return p.Deps
}

// matchesAny reports whether a pattern matches an import path. A pattern whose first
// part has no dot, or that is ".", is one of our folders, except "testing" and "net". "x/..." is
// x and all below it, "x/*" all below x without x.
func matchesAny(patterns []string, importPath string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		first, _, _ := strings.Cut(pattern, "/")
		switch {
		case pattern == ".":
			return importPath == module
		case first != "testing" && first != "net" && !strings.Contains(first, "."):
			pattern = module + "/" + strings.TrimPrefix(pattern, "/")
		}
		if below, ok := strings.CutSuffix(pattern, "/*"); ok {
			return importPath != below && within(importPath, below)
		}
		if top, ok := strings.CutSuffix(pattern, "/..."); ok {
			return within(importPath, top)
		}
		return importPath == pattern
	})
}
