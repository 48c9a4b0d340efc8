package invariant

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/contract"
)

const orderSchema = `{"type":"object","required":["order","status"],"additionalProperties":false,
	"properties":{"order":{"type":"integer"},"status":{"enum":["refunded","failed"]},"note":{"type":"string","maxLength":5}}}`

func TestValidJSON(t *testing.T) {
	loose := ValidJSON("x", contract.High, nil)
	fenced := ValidJSON("x", contract.High, &JSONOptions{AllowFence: true})
	strict := ValidJSON("x", contract.High, &JSONOptions{Schema: orderSchema})
	old := ValidJSON("x", contract.High,
		&JSONOptions{Schema: `{"$schema":"http://json-schema.org/draft-07/schema","type":"array"}`})
	table(t, []row{
		{"an object", loose, answer(`{"a":[1,null]}`), holds, ""},
		{"white space around", loose, answer(" \n{} \n"), holds, ""},
		{"a number too large for a float is JSON", loose, answer("1e999"), holds, ""},
		{"prose", loose, answer("Here it is: {}"), breaks, `not JSON: invalid character 'H'`},
		{"two values", loose, answer("{} {}"), breaks, "after top-level value"},
		{"a fence", loose, answer("```json\n{}\n```"), breaks, ""},
		{"a fence that is allowed", fenced, answer("```json\n{}\n```\n"), holds, ""},
		{"a fence that does not end", fenced, answer("```json\n{}"), breaks, ""},
		{"the schema is satisfied", strict, answer(`{"order":1042,"status":"refunded"}`), holds, ""},
		{"a member is missing", strict, answer(`{"order":1042}`), breaks, "does not satisfy the schema"},
		{"too long", strict, answer(`{"order":1,"status":"failed","note":"too long"}`), breaks, "maxLength"},
		{"a number too large for the schema to judge", strict, answer(`{"order":1e999,"status":"failed"}`), breaks,
			"cannot judge"},
		{"draft 7, its name without the number sign", old, answer(`[]`), holds, ""},
		{"the schema that allows nothing", ValidJSON("x", contract.High, &JSONOptions{Schema: "false"}), answer(`{}`),
			breaks, ""},
	})
	schema := func(s string) contract.Invariant {
		return ValidJSON("x", contract.High, &JSONOptions{Schema: s})
	}
	misuse(t, map[string]contract.Invariant{
		"Schema: invalid character":          schema("{,"),
		"is not supported":                   schema(`{"$schema":"http://json-schema.org/draft-04/schema#"}`),
		"such as \"#/$defs/order\"":          schema(`{"$ref":"https://example.com/other.json"}`),
		"error parsing regexp":               schema(`{"pattern":"("}`),
		`"#" refers to itself`:               schema(`{"$ref":"#"}`),
		`"#/$defs/a" refers to itself`:       schema(`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`),
		`"#/allof/0/if" has $ref "#x", `:     schema(`{"allOf":[{"$anchor":"x","if":{"$ref":"#x"}}]}`),
		`"#" has $dynamicRef "#n", and `:     schema(`{"$dynamicAnchor":"n","$dynamicRef":"#n"}`),
		`"#/$defs/b" has $id "t", and r`:     schema(`{"$id":"https://a.example/s","$defs":{"b":{"$id":"t"}}}`),
		"invariant: ValidJSON(\"x\"):":       schema(`{"type":17}`),
		`"#" refers to itself; a`:            schema(`{"$Ref":"#"}`),
		`"#" refers to itself; a r`:          schema(`{"ALLOF":[{"$ref":"#"}]}`),
		`"#" refers to itself; a ref`:        schema(`{"type":"object","properties":{"next":{"$ref":"#"}}}`),
		`/$defs is there twice; allowed: ea`: schema(`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}},"$defs":{}}`),
	})
	for _, fine := range []string{
		`{"properties":{"Items":{"type":"string"},"$Ref":{}},"required":["Items"]}`,
		`{"const":{"a":[{"a":1},{"a":1}]}}`, `{"enum":[{"Type":1}],"x-note":{"Type":1}}`,
	} {
		assert.NoError(t, schema(fine).Err, fine)
	}
}

func FuzzValidJSON(f *testing.F) {
	for _, seed := range [][2]string{
		{orderSchema, `{"order":1}`}, {`{"$ref":"#"}`, `{}`}, {`{"$dynamicRef":"#x"}`, `[1]`}, {`{"allOf":[null]}`,
			`1`},
		{`{"items":null}`, `[]`}, {`{"const":null}`, `null`}, {`{"uniqueItems":true}`,
			`[{},{}]`}, {`{"multipleOf":0}`, `3`},
		{`{"anyOf":[{"$ref":"#/anyOf/0"}]}`, `1`}, {`{"$Ref":"#"}`, `{}`}, {`{"AnYOf":[{"$ref":"#/anyOf/0"}]}`, `1`}, {`{"ALLOF":[{"$ref":"#"}]}`,
			`{}`}, {`{"$Anchor":"x","$ref":"#x"}`, `1`},
		{`{"$dynamicREf":"#"}`, `{}`}, {`{"$defs":{"a":{"$ref":"#/$defs/a"}},"$defs":{},"$ref":"#/$defs/a"}`, `1`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, text string) {
		inv := ValidJSON("x", contract.High, &JSONOptions{Schema: schema, AllowFence: true})
		o := answer(text)
		got := outcomeOf(inv.Check(t.Context(), &o))
		assert.Equal(t, inv.Err != nil, got == unclear)
	})
}
