package planjson_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// The committed schema is the one that the table makes.
func TestTheSchemaIsThatOfTheTable(t *testing.T) {
	want, err := planjson.SchemaFor(nil)
	require.NoError(t, err)
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		require.NoError(t, os.WriteFile("schema.json", want, 0o644))
		return
	}
	assert.Equal(t, string(want), planjson.Schema(), "to accept: UPDATE_GOLDEN=1 go test -run TheSchemaIsThatOfTheTable .")
}

// resolved is the schema ready to validate.
func resolved(t *testing.T, text []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &s))
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	require.NoError(t, err)
	return r
}

// validate holds a document to the schema.
func validate(r *jsonschema.Resolved, doc []byte) error {
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return err
	}
	return r.Validate(v)
}

// Captures fit the schema of captures, and other documents do not.
func TestCapturesFitTheirSchema(t *testing.T) {
	text, err := planjson.CaptureSchema(nil)
	require.NoError(t, err)
	s := resolved(t, text)
	plan, err := chaos.NewPlan(7,
		chaos.Rule{Target: "pay", When: when.Prob(0.5), Fault: fault.Fail(fault.ErrUnavailable)},
		chaos.Rule{Target: "p*", When: when.Nth(3), Fault: fault.Fail(fault.ErrInternal), Layer: chaos.LayerTool})
	require.NoError(t, err)
	for _, calls := range []int{0, 9} {
		in := plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
		ctx := chaos.WithLane(chaos.NewContext(t.Context(), in), "a")
		for range calls {
			_ = chaos.Point(ctx, "pay")
		}
		capture, err := planjson.CaptureOf(plan, in.Events())
		require.NoError(t, err)
		data, err := capture.Encode(nil)
		require.NoError(t, err)
		assert.NoError(t, validate(s, data), "%s", data)
	}
	for _, doc := range []string{`{}`, `{"cell":"a","plan":{"seed":"1","rules":[]}}`, `{"cell":"a","plan":{"seed":"1","rules":[]},"calls":[{}]}`,
		`{"cell":"a","plan":{"seed":"1","rules":[{"target":"a","fault":{"kind":"porb"}}]},"calls":[]}`} {
		assert.Error(t, validate(s, []byte(doc)), doc)
		_, err := planjson.DecodeCapture([]byte(doc), nil)
		assert.Error(t, err, doc)
	}
}

// The documents that the examples show are what the schema says of them.
func TestExamplesFitTheSchema(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	s := resolved(t, []byte(planjson.Schema()))
	function := func(name string) string {
		_, body, found := strings.Cut(string(source), "func "+name+"() {\n")
		require.True(t, found, name)
		body, _, _ = strings.Cut(body, "\n}\n")
		return body
	}
	read := regexp.MustCompile("(?s)\\[\\]byte\\(`(.*?)`\\)")
	assert.NoError(t, validate(s, []byte(read.FindStringSubmatch(function("ExampleDecode"))[1])))
	assert.Error(t, validate(s, []byte(read.FindStringSubmatch(function("ExampleDecode_mistakes"))[1])))
	_, written, found := strings.Cut(function("ExampleEncode"), "// Output:\n")
	require.True(t, found)
	written, _, _ = strings.Cut(strings.ReplaceAll(written, "\t// ", ""), "<nil>")
	assert.NoError(t, validate(s, []byte(written)), written)
}
