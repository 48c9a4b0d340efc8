package tape

import (
	_ "embed"
	"encoding/json"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON schema of a file, of draft 2020-12. What it cannot express,
// such as that like names an earlier exchange, [Read] checks.
func Schema() json.RawMessage { return slices.Clone(schema) }
