package shakedown_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	githubFile   = "docs/ci/github.yml"
	gitlabFile   = "docs/ci/gitlab-ci.yml"
	githubShards = "docs/ci/shards-github.yml"
	gitlabShards = "docs/ci/shards-gitlab.yml"
	kubernetes   = "docs/ci/kubernetes.yml" // internal/tools reads it into the types of Kubernetes
)

// The types have those members of GitLab's schema that a pipeline to copy may use, with the names and
// kinds of app/assets/javascripts/editor/schema/ci.json: any other member is an error there too.
type gitlabJob struct {
	Image        string            `yaml:"image"`
	BeforeScript []string          `yaml:"before_script"`
	Script       []string          `yaml:"script"`
	AfterScript  []string          `yaml:"after_script"`
	Variables    map[string]string `yaml:"variables"`
	Timeout      string            `yaml:"timeout"`
	Stage        string            `yaml:"stage"`
	Needs        []string          `yaml:"needs"`
	Parallel     int               `yaml:"parallel"`
	AllowFailure bool              `yaml:"allow_failure"`
	Retry        struct {
		Max       int   `yaml:"max"`
		ExitCodes []int `yaml:"exit_codes"`
	} `yaml:"retry"`
	Artifacts struct {
		When     string   `yaml:"when"`
		Paths    []string `yaml:"paths"`
		ExpireIn string   `yaml:"expire_in"`
		Reports  struct {
			JUnit string `yaml:"junit"`
		} `yaml:"reports"`
	} `yaml:"artifacts"`
}

func readGitLab(text string) (jobs map[string]gitlabJob, err error) {
	var all map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	jobs = map[string]gitlabJob{}
	for name, node := range all {
		part, err := yaml.Marshal(&node)
		if err != nil {
			return nil, err
		}
		d, job := yaml.NewDecoder(bytes.NewReader(part)), gitlabJob{}
		d.KnownFields(true)
		if err := d.Decode(&job); err != nil {
			return nil, err
		}
		jobs[name] = job
	}
	return jobs, nil
}

func TestPipelineForGitLab(t *testing.T) {
	text := page(t, gitlabFile)
	jobs, err := readGitLab(text)
	require.NoError(t, err)
	assert.Equal(t, "golang:1", jobs["default"].Image)
	for _, name := range []string{"tests", "file"} {
		job := jobs[name]
		assert.NotEmpty(t, job.Script, name)
		assert.Equal(t, "always", job.Artifacts.When, "%s: the reports of what failed are what is needed", name)
		assert.NotEmpty(t, job.Artifacts.Paths, name)
		assert.NotEmpty(t, job.Artifacts.Reports.JUnit, name)
		assert.Regexp(t, `^\d+ minutes$`, job.Timeout, name)
		assert.LessOrEqual(t, job.Retry.Max, 2, "GitLab allows 0 to 2")
	}
	assert.Len(t, jobs, 3)
	for _, wrong := range [][2]string{{"script:", "scripts:"}, {"exit_codes:", "exit_code:"}, {"junit:", "j_unit:"}, {"max: 1", "max: often"}} {
		_, err := readGitLab(strings.Replace(text, wrong[0], wrong[1], 1))
		assert.Error(t, err, "%s is not in the schema", wrong[1])
	}
}

func TestShardsForGitLab(t *testing.T) {
	jobs, err := readGitLab(page(t, gitlabShards))
	require.NoError(t, err)
	shard, merge := jobs["shard"], jobs["merge"]
	assert.Equal(t, "$CI_NODE_INDEX/$CI_NODE_TOTAL", shard.Variables["SHAKEDOWN_SHARD"], "GitLab counts from 1, as shards do")
	assert.Positive(t, shard.Parallel)
	assert.True(t, shard.AllowFailure, "a shard that found something must not keep the merge from running")
	assert.Equal(t, "always", shard.Artifacts.When, "the part of a shard that failed is needed")
	assert.Equal(t, []string{"build", "shard"}, merge.Needs)
	assert.False(t, merge.AllowFailure, "its status is the report's")
}

type githubJobs map[string]struct {
	Needs    string
	If       string
	Strategy struct {
		FailFast *bool `yaml:"fail-fast"`
		Matrix   struct{ Shard []int }
	}
	Steps []struct {
		If, Uses, Run, Name string
		Env                 map[string]string
		With                map[string]string
	}
}

func readGitHub(t *testing.T, file string) githubJobs {
	t.Helper()
	assert.Contains(t, page(t, ".ci/run"), file, "actionlint reads it there")
	var workflow struct{ Jobs githubJobs }
	require.NoError(t, yaml.Unmarshal([]byte(page(t, file)), &workflow))
	return workflow.Jobs
}

func TestShardsForGitHub(t *testing.T) {
	jobs := readGitHub(t, githubShards)
	shard, merge := jobs["shard"], jobs["merge"]
	for i, index := range shard.Strategy.Matrix.Shard {
		assert.Equal(t, i+1, index, "shards are counted from 1, and none is left out")
	}
	assert.False(t, *shard.Strategy.FailFast, "a shard that found something ends no other")
	count := "/" + strconv.Itoa(len(shard.Strategy.Matrix.Shard))
	var said []string
	for _, step := range shard.Steps {
		if of := step.Env["SHAKEDOWN_SHARD"]; of != "" {
			said = append(said, of)
		}
	}
	assert.Equal(t, []string{"${{ matrix.shard }}" + count}, said, "of as many as there are")
	assert.Equal(t, "always()", merge.If, "also when a shard failed: the report says what is missing")
	assert.Equal(t, "shard", merge.Needs)
}

// The workflow for GitHub is read by actionlint, in .ci/run.
func TestPipelineForGitHub(t *testing.T) {
	jobs := readGitHub(t, githubFile)
	require.Len(t, jobs, 2)
	for name, job := range jobs {
		last := job.Steps[len(job.Steps)-1]
		assert.Equal(t, "actions/upload-artifact@v4", last.Uses, name)
		assert.Equal(t, "always()", last.If, name)
	}
}

// Both do the same, and say nothing that the page does not know.
func TestPipelinesAndTheirPage(t *testing.T) {
	shown := page(t, "docs/ci.md")
	commands := map[string][]string{}
	for _, file := range []string{githubFile, gitlabFile, githubShards, gitlabShards, kubernetes} {
		text := page(t, file)
		assert.Contains(t, shown, "("+strings.TrimPrefix(file, "docs/")+")", "the page links it")
		for _, name := range regexp.MustCompile(`SHAKEDOWN_[A-Z_]+`).FindAllString(text, -1) {
			assert.Contains(t, shown, "| `"+name+"` |", "%s: a variable of the page's table", file)
		}
		for _, command := range regexp.MustCompile(`(?m)(go (test|install) .*|shakedown run [^-]*|--(baseline|junit|html|file) \S+)`).FindAllString(text, -1) {
			commands[file] = append(commands[file], strings.TrimSpace(command))
		}
		slices.Sort(commands[file])
	}
	assert.Equal(t, commands[githubFile], commands[gitlabFile])
	assert.Len(t, commands[githubFile], 7)
	assert.Equal(t, commands[githubShards], commands[gitlabShards])
	assert.Len(t, commands[githubShards], 4)
}

func page(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}
