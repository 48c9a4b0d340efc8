package compare

import _ "embed" // for the schema

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a [Comparison] as package
// encoding/json writes it.
func Schema() string { return schema }
