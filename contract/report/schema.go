package report

import _ "embed" // for the schema

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of the reports that [JSON] writes
// and [FromJSON] reads.
func Schema() string { return schema }
