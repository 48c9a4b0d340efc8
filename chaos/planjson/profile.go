package planjson

import (
	"fmt"
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
// write all of them. The error joins every problem, each an [*Error].
func Profile(name string, options *ProfileOptions) ([]chaos.Rule, error) {
	var o ProfileOptions
	if options != nil {
		o = *options
	}
	var found problems
	for _, w := range profiles() {
		if w.name != name {
			continue
		}
		t := targets{
			tools:   oneOf(o.Tools, w.needs.tools, name, "Tools", &found),
			models:  oneOf(o.Models, w.needs.models, name, "Models", &found),
			streams: oneOf(o.Streams, w.needs.streams, name, "Streams", &found),
		}
		if err := found.err(); err != nil {
			return nil, err
		}
		rules := w.rules(t)
		for i := range rules {
			rules[i].Name = name + "/" + rules[i].Name
		}
		return rules, nil
	}
	return nil, &Error{Reason: UnknownKind, Value: "profile " + strictjson.Short(string(strictjson.Quote(name))),
		Allowed: "one of " + strings.Join(ProfileNames(), ", ") + text.Meant(name, ProfileNames())}
}

// ProfileNames lists the ready-made profiles, in the order of docs/plans.md.
func ProfileNames() []string {
	var names []string
	for _, w := range profiles() {
		names = append(names, w.name)
	}
	return names
}

// A profile is a row of the table.
type profile struct {
	name  string
	doc   string // what it does, for docs/plans.md
	needs needs
	rules func(targets) []chaos.Rule
}

// needs are the sorts of targets of a profile.
type needs struct{ tools, models, streams bool }

// targets are one glob for each sort.
type targets struct{ tools, models, streams string }

// oneOf makes one glob of several.
func oneOf(globs []string, needed bool, profile, field string, found *problems) string {
	switch {
	case !needed:
		return ""
	case len(globs) == 0:
		found.add(&Error{Reason: Missing, Value: fmt.Sprintf("%s of the profile %s", field, profile),
			Allowed: "at least one glob over the targets of the faults"})
		return ""
	case len(globs) == 1:
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
