package replay_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

func sessionSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(replay.Schema()), &s))
	return &s
}

// The schema has the members that the reader has, and requires those that it requires.
func TestTheSchemaIsThatOfTheReader(t *testing.T) {
	s := sessionSchema(t)
	session := s.Properties
	delete(session, "format")
	delete(session, "version")
	for name, row := range map[string]struct {
		of         reflect.Type
		properties map[string]*jsonschema.Schema
		required   []string
	}{
		"session": {reflect.TypeFor[replay.Session](), session, s.Required[2:]},
		"source":  {reflect.TypeFor[replay.Origin](), s.Defs["source"].Properties, s.Defs["source"].Required},
		"tool":    {reflect.TypeFor[chaos.Tool](), s.Defs["tool"].Properties, s.Defs["tool"].Required},
		"call":    {reflect.TypeFor[findings.Call](), s.Defs["call"].Properties, s.Defs["call"].Required},
		"error":   {reflect.TypeFor[findings.CallError](), s.Defs["error"].Properties, s.Defs["error"].Required},
		"plan":    {reflect.TypeFor[planjson.Plan](), s.Defs["plan"].Properties, s.Defs["plan"].Required},
		"rule":    {reflect.TypeFor[planjson.Rule](), s.Defs["rule"].Properties, s.Defs["rule"].Required},
		"part":    {reflect.TypeFor[planjson.Part](), s.Defs["part"].Properties, s.Defs["part"].Required},
	} {
		var names, required []string
		for _, f := range strictjson.Fields(row.of) {
			names = append(names, f.Name)
			if !f.Optional {
				required = append(required, f.Name)
			}
		}
		var has []string
		for property := range row.properties {
			has = append(has, property)
		}
		assert.ElementsMatch(t, names, has, name)
		assert.ElementsMatch(t, required, row.required, name)
	}
}

// What the schema refuses, the reader refuses; what the reader takes, the schema takes.
func TestTheSchemaRefusesNothingThatIsRead(t *testing.T) {
	resolved, err := sessionSchema(t).Resolve(nil)
	require.NoError(t, err)
	validate := func(text string) error {
		var doc any
		require.NoError(t, json.Unmarshal([]byte(text), &doc))
		return resolved.Validate(doc)
	}
	require.NoError(t, validate(paidTwice))
	for _, change := range [][2]string{
		{`"refund-1042"`, `"a b"`}, {`"version": 1`, `"version": 2`}, {`"30s"`, `"30"`}, {`"tool": "audit"`, `"tool": ""`},
		{`"type": "model"`, `"type": "x"`}, {`"seed": "1"`, `"seed": "x"`}, {`"answer"`, `"anser"`}, {`"effect": "done"`, `"effect": "x"`},
		{`["args", "result", "end"]`, `["args", "args"]`}, {`"parent": 3`, `"parent": -3`}, {`"kind"`, `"kin"`},
	} {
		text := strings.Replace(paidTwice, change[0], change[1], 1)
		require.NotEqual(t, paidTwice, text)
		assert.Error(t, validate(text), "%s", change[1])
		_, err := replay.Read([]byte(text))
		assert.Error(t, err, "%s", change[1])
	}
	assert.True(t, slices.Contains(sessionSchema(t).Required, "calls"))
}

// docs/sessions.md shows a file that is read and written back, and its table has each member of a call and no other.
func TestThePageHasTheFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/sessions.md")
	require.NoError(t, err)
	_, file, found := strings.Cut(string(page), "## The file\n\n```json\n")
	require.True(t, found)
	example, rest, _ := strings.Cut(file, "```\n")
	s, err := replay.Read([]byte(example))
	require.NoError(t, err)
	data, err := s.Encode()
	require.NoError(t, err)
	assert.Equal(t, example, string(data))

	var want, named []string
	for _, of := range []reflect.Type{reflect.TypeFor[findings.Call](), reflect.TypeFor[findings.CallError]()} {
		for _, f := range strictjson.Fields(of) {
			want = append(want, f.Name)
		}
	}
	_, table, found := strings.Cut(rest, "| member of a call | says |\n|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(table) {
		members, says, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, m := range quoted.FindAllStringSubmatch(members, -1) {
			named = append(named, m[1])
		}
		if strings.Contains(members, "`error`") {
			for _, m := range quoted.FindAllStringSubmatch(says, -1)[1:] { // the first is error itself
				named = append(named, m[1])
			}
		}
	}
	assert.ElementsMatch(t, want, named)
}
