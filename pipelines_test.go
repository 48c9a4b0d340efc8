package shakedown_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	githubFile = "docs/ci/github.yml"
	gitlabFile = "docs/ci/gitlab-ci.yml"
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

// The workflow for GitHub is read by actionlint, in .ci/run.
func TestPipelineForGitHub(t *testing.T) {
	assert.Contains(t, page(t, ".ci/run"), githubFile)
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				If, Uses, Run, Name string
				Env                 map[string]string
				With                map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(page(t, githubFile)), &workflow))
	require.Len(t, workflow.Jobs, 2)
	for name, job := range workflow.Jobs {
		last := job.Steps[len(job.Steps)-1]
		assert.Equal(t, "actions/upload-artifact@v4", last.Uses, name)
		assert.Equal(t, "always()", last.If, name)
	}
}

// Both do the same, and say nothing that the page does not know.
func TestPipelinesAndTheirPage(t *testing.T) {
	shown := page(t, "docs/ci.md")
	commands := map[string][]string{}
	for _, file := range []string{githubFile, gitlabFile} {
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
}

func page(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}
