package planjson

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/text"
)

// ProfileOptions are the targets of a ready-made profile: globs over the names
// of injection points, in the syntax of [chaos.Rule.Target]. A profile needs
// globs for its sorts of targets; without them it is an error. There is no
// default, since "*" would also match what the agent's own code is wrapped as.
type ProfileOptions struct {
	_ struct{}
	// Tools are the tools that the agent calls, or other calls to dependencies.
	Tools []string
	// Models are the HTTP calls to a language model's API; see package chaos/chaoshttp.
	Models []string
	// Streams are the streams that the agent reads.
	Streams []string
}

// Profile returns the rules of a ready-made profile by name: one of
// [ProfileNames], each described in docs/plans.md. The rules are named
// "profile/part", so that profiles can be joined in one plan. [Encode] can
// write all of them. The error is an [*Error].
func Profile(name string, options *ProfileOptions) ([]chaos.Rule, error) {
	var o ProfileOptions
	if options != nil {
		o = *options
	}
	all := profiles()
	i := slices.IndexFunc(all, func(p profile) bool { return p.name == name })
	if i < 0 {
		return nil, &Error{Reason: UnknownKind, Value: "profile " + strictjson.Short(string(strictjson.Quote(name))),
			Allowed: "one of " + strings.Join(ProfileNames(), ", ") + text.Meant(name, ProfileNames())}
	}
	p := all[i]
	globs := map[targets][]string{tools: o.Tools, models: o.Models, streams: o.Streams}[p.needs]
	if len(globs) == 0 {
		return nil, &Error{Reason: Missing, Value: fmt.Sprintf("%s of the profile %s", p.needs, name),
			Allowed: "at least one glob over the targets of the faults"}
	}
	for i := range p.rules {
		p.rules[i].Target = joinGlobs(globs)
		p.rules[i].Name = name + "/" + p.rules[i].Name
	}
	return p.rules, nil
}

// ProfileNames lists the ready-made profiles, in the order of docs/plans.md.
func ProfileNames() []string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.name)
	}
	return names
}

// A profile is a row of the table.
type profile struct {
	name  string
	doc   string // what it does, for docs/plans.md
	needs targets
	rules []chaos.Rule // without targets
}

// targets is the member of [ProfileOptions] that a profile needs.
type targets string

const (
	tools   targets = "Tools"
	models  targets = "Models"
	streams targets = "Streams"
)

// joinGlobs makes one glob of several.
func joinGlobs(globs []string) string {
	if len(globs) == 1 {
		return globs[0]
	}
	parts := make([]string, len(globs))
	for i, g := range globs {
		parts[i] = escapeCommas(g)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// escapeCommas escapes literal commas, which would separate alternatives once
// the glob is put into braces.
func escapeCommas(glob string) string {
	var b strings.Builder
	depth, escaped := 0, false
	for _, r := range glob {
		switch {
		case escaped:
			escaped = false
			b.WriteRune(r)
			continue
		case r == '\\':
			escaped = true
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == ',' && depth == 0:
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
