package mcpchaos

import (
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// The beginnings of targets.
const (
	atMiddleware = "mcp/"
	atSend       = "mcp/send/"
	atReceive    = "mcp/receive/"
	callTool     = "tools/call/"
)

// place describes what a message is about: the end of its target, and its key.
type place struct {
	path string
	key  uint64
}

// placeOf names a request by its method and what it asks for.
func placeOf(method string, params []byte) place {
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil { // no object: nothing to be named by
		return place{method, jsonhash.Sum(params)}
	}
	p := place{path: method}
	named := map[string][]string{"tools/call": {"name"}, "prompts/get": {"name"}, "resources/read": {"uri"}}
	for _, by := range named[method] {
		var name string
		if json.Unmarshal(members[by], &name) == nil && name != "" {
			p.path += "/" + name
		}
	}
	if method == "tools/call" {
		p.key = jsonhash.Sum(members["arguments"])
		return p
	}
	delete(members, "_meta") // tokens differ from request to request
	rest, err := json.Marshal(members)
	if err == nil {
		p.key = jsonhash.Sum(rest)
	}
	return p
}
