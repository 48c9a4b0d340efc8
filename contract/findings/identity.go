package findings

import (
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/redact"
)

// An identity stands for a tool and its arguments: equal ones have equal identities.
type identity struct {
	hash  uint64
	known bool // false: the arguments were not recorded as a whole, or redacted, and the hash is of the tool alone
}

func identify(c *Call) identity {
	tool := hash.String(c.Tool)
	switch {
	case c.ArgsHash != "":
		return identity{hash.Combine(hash.Combine(tool, 1), hash.String(c.ArgsHash)), true}
	case slices.Contains(c.Missing, Args), c.Truncated && c.Args != nil, redacted(string(c.Args)):
		return identity{hash: tool}
	}
	return identity{hash.Combine(hash.Combine(tool, 2), jsonhash.Sum(c.Args)), true}
}

// redacted reports whether a text was more than it is: different secrets became equal.
func redacted(text string) bool { return strings.Contains(text, redact.Marker) }

// separateKey finds the idempotency key of a call, and what it asks for without the key.
// Arguments that have no key are left as they are.
func (c *call) separateKey(pointer string) {
	if c.ArgsHash != "" { // equal hashes have equal keys; of others nothing is known
		c.key, c.keyed = c.args.hash, true
		return
	}
	doc, node, found := jsonedit.MemberAt(c.Args, pointer)
	if !found {
		return
	}
	c.key, c.keyed = jsonhash.Sum(doc.Raw(node)), true
	args := jsonhash.Sum(doc.Apply(doc.Remove(node)...))
	c.request = hash.Combine(hash.Combine(hash.String(c.Tool), 2), args)
}

// leaves calls found with each scalar in a call's arguments: with a hash of its name and
// value, and, where the value alone is specific, with a hash of the value. An element of
// a list has the name of the list.
func (c *call) leaves(found func(uint64)) {
	if c.ArgsHash != "" || !c.args.known {
		return
	}
	doc, valid := jsonedit.Parse(c.Args)
	if !valid {
		return
	}
	names := make([]string, len(doc.Nodes))
	for i := range doc.Nodes {
		if up := int(doc.Nodes[i].Parent); doc.IsMember(i) {
			names[i] = doc.Name(i)
		} else if up >= 0 {
			names[i] = names[up]
		}
		switch doc.Kind(i) {
		case jsonedit.Object, jsonedit.Array:
			continue
		}
		raw := doc.Raw(i)
		value := jsonhash.Sum(raw)
		found(hash.Combine(hash.String(names[i]), value))
		if specific(raw) {
			found(value)
		}
	}
}

// specificBytes is the least length of a value that two calls hardly share by chance.
const specificBytes = 3

func specific(raw []byte) bool {
	s := string(raw)
	if unquoted, err := strconv.Unquote(s); err == nil {
		s = unquoted
	}
	return len(s) >= specificBytes && s != "true" && s != "false" && s != "null"
}
