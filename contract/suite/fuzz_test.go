package suite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/scoring"
)

// valid are the files that the tests change.
func valid(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	paths, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = data
	}
	require.NotEmpty(t, files)
	return files
}

// outline says all that matrices ask, without running them.
func outline(t testing.TB, s *suite.Suite) string {
	t.Helper()
	var b bytes.Buffer
	for name, m := range s.Matrices(world(1)) {
		data, err := json.Marshal(m.Outline())
		require.NoError(t, err)
		b.WriteString(name + " " + string(data) + m.Timeout.String() + "\n")
		for _, sc := range m.Scenarios {
			if sc.Rewrite != nil {
				b.WriteString(sc.Rewrite(m.Prompts[0]) + "\n")
			}
		}
	}
	weights, _ := s.Score(nil, nil)
	data, err := json.Marshal(weights.Weights)
	require.NoError(t, err)
	return b.String() + string(data)
}

// judged holds a document to the law: an error with a line, or the suite that the file
// says, which the same document in JSON says too.
func judged(t testing.TB, dir string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, "changed.yaml")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	s, err := suite.Load(path, options())
	if err != nil {
		placedAll(t, err)
		return
	}
	want := outline(t, s)
	var plain any
	require.NoError(t, yaml.Unmarshal(data, &plain), "what is read has a meaning for others too")
	inJSON, err := json.Marshal(plain)
	require.NoError(t, err)
	other := filepath.Join(dir, "changed.json")
	require.NoError(t, os.WriteFile(other, inJSON, 0o600))
	again, err := suite.Load(other, options())
	require.NoError(t, err, "the same document in JSON")
	require.Equal(t, want, outline(t, again), "the same document in JSON")
}

// placedAll holds every problem to having a line and saying something.
func placedAll(t testing.TB, err error) {
	t.Helper()
	for _, one := range apart(err) {
		var e *scoring.FieldError
		if errors.As(one, &e) {
			assert.Positive(t, e.Line, "%v", e)
			assert.NotEmpty(t, e.Allowed+errorText(e.Err), "%v", e)
		} else {
			assert.ErrorContains(t, one, "more problems")
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func apart(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// Swapping any key, value or level of a valid file gives an error with a line, or the
// suite that the file says.
func FuzzSwap(f *testing.F) {
	files := valid(f)
	for name := range files {
		for seed := range uint64(25) {
			f.Add(name, seed)
		}
	}
	f.Fuzz(func(t *testing.T, name string, seed uint64) {
		data, ok := files[name]
		if !ok {
			return
		}
		var doc yaml.Node
		require.NoError(t, yaml.Unmarshal(data, &doc))
		random := rand.New(rand.NewPCG(seed, 1))
		for range 1 + random.IntN(2) {
			swap(&doc, random)
		}
		changed, err := yaml.Marshal(&doc)
		require.NoError(t, err)
		judged(t, copied(t), changed)
	})
}

// copied is a folder with the files of testdata.
func copied(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata")))
	return dir
}

// swap exchanges two nodes, copies one over another, removes one, or changes a text.
func swap(doc *yaml.Node, random *rand.Rand) {
	var all []*yaml.Node
	var parents []*yaml.Node
	var walk func(n, parent *yaml.Node)
	walk = func(n, parent *yaml.Node) {
		all, parents = append(all, n), append(parents, parent)
		for _, kid := range n.Content {
			walk(kid, n)
		}
	}
	walk(doc.Content[0], doc)
	a, b := random.IntN(len(all)), random.IntN(len(all))
	switch random.IntN(5) {
	case 0:
		*all[a], *all[b] = *all[b], *all[a]
	case 1:
		*all[a] = *all[b]
	case 2:
		if p := parents[a]; p.Kind == yaml.SequenceNode {
			for i, kid := range p.Content {
				if kid == all[a] {
					p.Content = append(p.Content[:i:i], p.Content[i+1:]...)
				}
			}
		}
	case 3:
		all[a].Value += []string{"x", "", "0", "*", "[", "\n"}[random.IntN(6)]
	case 4:
		*all[a] = yaml.Node{Kind: yaml.ScalarNode,
			Value: []string{"0", "-1", "true", "null", "1e9", "~", "''", "2.5", "[]", "{}"}[random.IntN(10)]}
	}
	cut(doc.Content[0], 0)
}

// cut ends what a swap made deep or endless: a node within itself.
func cut(n *yaml.Node, depth int) {
	if depth > 20 {
		n.Content = nil
		return
	}
	if n.Kind == yaml.MappingNode && len(n.Content)%2 == 1 {
		n.Content = n.Content[:len(n.Content)-1]
	}
	for i, kid := range n.Content {
		own := *kid
		own.Content = append([]*yaml.Node{}, kid.Content...)
		n.Content[i] = &own
		cut(&own, depth+1)
	}
}

// Any text at all is an error with a line, or a suite.
func FuzzLoad(f *testing.F) {
	for _, data := range valid(f) {
		f.Add(data)
	}
	inJSON, err := os.ReadFile("testdata/quick.json")
	require.NoError(f, err)
	f.Add(inJSON)
	for _, text := range []string{"", "a: &a [*a]", "? a", "- - -", "\ufeffversion: '2.0'", "a: !!binary x", "%YAML 1.1\n---\na: b", "a: |\n  b\n"} {
		f.Add([]byte(text))
	}
	f.Add([]byte("\"0\xfe\"")) // JSON by its first byte, and no UTF-8
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := copied(t)
		path := filepath.Join(dir, "any.yaml")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		s, err := suite.Load(path, options())
		if err != nil {
			assert.Nil(t, s)
			placedAll(t, err)
			return
		}
		_ = outline(t, s)
	})
}
