package suite

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

// Write writes a suite to a file, as JSON if the name ends in .json, else as YAML.
// Comments and the order of the text are not kept: keys are in the order in which they
// were read, and what aliases stood for is written out. Variables of the environment stay
// variables.
//
// What [Load] makes of the file is the same suite, which the written file is held to: it
// is an error if a file that the suite names is not in the new folder. o are the options
// with which the suite was loaded. The file is whole or as it was.
func Write(path string, s *Suite, o *Options) error {
	if s == nil || s.root == nil {
		return fields.Wrong("suite", nil, "one that Load returned")
	}
	data, err := s.encode(path)
	if err != nil {
		return err
	}
	again, err := load(path, data, o)
	if err != nil {
		return fmt.Errorf("suite: the file could not be loaded, and was not written: %w", err)
	}
	_ = again.Close() // nothing was recorded
	if err := wholefile.Write(path, data); err != nil {
		return fmt.Errorf("suite: %w", err)
	}
	return nil
}

func (s *Suite) encode(path string) ([]byte, error) {
	var b bytes.Buffer
	if filepath.Ext(path) == ".json" {
		s.root.Pretty(&b, "")
		b.WriteByte('\n')
		return b.Bytes(), nil
	}
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(yamlOf(s.root)); err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	return b.Bytes(), nil
}

// bare is a key that needs no quotation marks, also for readers of older versions of YAML.
var bare = regexp.MustCompile(`^[a-z][a-zA-Z_]{2,}$`)

var reserved = []string{"null", "true", "false", "yes", "off"}

// yamlOf is a node as YAML.
func yamlOf(n *strictjson.Node) *yaml.Node {
	switch n.Kind {
	case '{':
		m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for i, key := range n.Keys {
			k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}
			if !bare.MatchString(key) || slices.Contains(reserved, key) {
				k.Style = yaml.DoubleQuotedStyle
			}
			m.Content = append(m.Content, k, yamlOf(n.Kids[i]))
		}
		return m
	case '[':
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, kid := range n.Kids {
			list.Content = append(list.Content, yamlOf(kid))
		}
		return list
	case '"':
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: n.Text, Style: yaml.DoubleQuotedStyle}
	case '0':
		return &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	case 'n':
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: map[byte]string{'t': "true", 'f': "false"}[n.Kind]}
}
