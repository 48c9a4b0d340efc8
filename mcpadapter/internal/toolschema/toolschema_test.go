package toolschema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

type order struct {
	Name   string   `json:"name" jsonschema:"whose" len:"1,5"`
	Size   string   `json:"size,omitempty" enum:"small,large"`
	Count  int      `json:"count,omitempty" range:"1,9"`
	Price  *float64 `json:"price,omitempty" above:"0"`
	Tags   []string `json:"tags,omitempty" len:"1,2" each:"1,3"`
	Params struct {
		Deep bool `json:"deep,omitempty"`
	} `json:"params,omitzero"`
	Any json.RawMessage `json:"any,omitempty"`
}

func read(t *testing.T, doc string) (order, string) {
	t.Helper()
	types := Types{}
	s, err := For[order](types)
	require.NoError(t, err)
	s.Properties["any"].Type, s.Properties["any"].Types, s.Properties["any"].AnyOf, s.Properties["any"].Items = "object", nil, nil, nil
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	o, err := Decode[order](json.RawMessage(doc), resolved)
	if err == nil {
		return o, ""
	}
	var refused *policy.Error
	require.ErrorAs(t, err, &refused)
	assert.NotEmpty(t, refused.Hint)
	return o, refused.Detail
}

func TestArgumentsAreRead(t *testing.T) {
	o, problem := read(t, `{"name":"ann","size":"small","count":5.0,"price":1e-3,"tags":["a","b"],"params":{"deep":true},"any":{"x":[1.50]}}`)
	require.Empty(t, problem)
	assert.Equal(t, 5, o.Count, "5.0 is a whole number")
	assert.Equal(t, 0.001, *o.Price)
	assert.Equal(t, []string{"a", "b"}, o.Tags)
	assert.True(t, o.Params.Deep)
	assert.JSONEq(t, `{"x":[1.50]}`, string(o.Any))
}

func TestArgumentsAreRefused(t *testing.T) {
	for doc, want := range map[string]string{
		``:                                   `name is missing; allowed: text of 1 to 5 characters`,
		`{"name":"toolong","count":0}`:       `count is 0; allowed: a whole number from 1 up to 9; name is "toolong"; allowed: text of 1 to 5 characters`,
		`{"name":"a","size":"smal"}`:         `size is "smal"; allowed: small, large; did you mean small?`,
		`{"name":"a","price":0}`:             `price is 0; allowed: a number above 0`,
		`{"name":"a","tags":["x","long"]}`:   `tags[1] is "long"; allowed: text of 1 to 3 characters`,
		`{"name":"a","tags":[]}`:             `tags is a list of 0 items; allowed: a list of 1 to 2 items, each text of 1 to 3 characters`,
		`{"name":"a","params":{"dep":true}}`: `params.dep is no member; did you mean deep?`,
		`{"name":"a","params":{"deep":1}}`:   `params.deep is 1; allowed: true or false`,
		`{"name":"a","count":null}`:          `count is null; allowed: a whole number from 1 up to 9`,
		`{"name":"a","count":1e999999999}`:   `count is 1e999999999; allowed: a whole number from 1 up to 9`,
		`[1]`:                                `the arguments is a list of 1 item; allowed: an object`,
		`{"name":`:                           `the arguments are no JSON`,
	} {
		_, problem := read(t, doc)
		assert.Equal(t, want, problem, doc)
	}
}

func TestADefaultIsJSON(t *testing.T) {
	type wrong struct {
		Mode string `json:"mode" default:"faults"`
	}
	_, err := For[wrong](nil)
	assert.ErrorContains(t, err, `default is "faults"; allowed: JSON, texts in quotes`)
}
