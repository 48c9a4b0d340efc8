package toolkit

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Validate returns every problem of the document, joined, each a [*FieldError].
// It checks the layout, as [Read] does, and reports unknown functions, controls,
// references, scopes and ${names}, and invalid tolerances. It does not read the
// environment and runs nothing. p may be nil: then there are no functions.
func (d *Document) Validate(p *Providers) error {
	var doc bytes.Buffer
	if err := d.Write(&doc); err != nil {
		return fields.Because(whole, nil, err, "")
	}
	if _, err := Read(doc.Bytes()); err != nil {
		return err
	}
	b := newBuilder(d, p)
	b.checkAll()
	return b.Err()
}

// checkAll checks every name that the document uses.
func (b *builder) checkAll() {
	b.checkNames("title", b.doc.Title, false)
	b.checkControls("controls", b.doc.Controls)
	for _, name := range slices.Sorted(maps.Keys(b.doc.Configuration)) {
		if v := b.doc.Configuration[name]; kindOf(v) == "probe" {
			b.checkEmbedded(below("configuration", name), v)
		}
	}
	if h := b.doc.Hypothesis; h != nil {
		b.checkNames("steady-state-hypothesis.title", h.Title, false)
		b.checkControls("steady-state-hypothesis.controls", h.Controls)
	}
	for _, list := range b.doc.lists() {
		for i := range list.activities {
			b.checkActivity(list.path+"["+strconv.Itoa(i)+"]", list.at, &list.activities[i])
		}
	}
}

func (b *builder) checkActivity(path string, at where, a *Activity) {
	if a.Ref != "" {
		b.checkReference(path, at, a.Ref)
		return
	}
	for i, name := range a.Configuration {
		if _, ok := b.doc.Configuration[name]; !ok {
			b.add(path+".configuration["+strconv.Itoa(i)+"]", name, list(b.doc.Configuration))
		}
	}
	b.checkScopes(path+".secrets", a.Secrets)
	b.checkControls(path+".controls", a.Controls)
	b.checkNames(path+".timeout", a.Timeout, false)
	if p := a.Pauses; p != nil {
		b.checkNames(path+".pauses.before", p.Before, false)
		b.checkNames(path+".pauses.after", p.After, false)
	}
	b.checkProvider(path+".provider", a.Provider)
	switch {
	case kindOf(a.Tolerance) == "probe":
		b.checkEmbedded(path+".tolerance", a.Tolerance)
	case a.Tolerance != nil:
		b.checkNames(path+".tolerance", a.Tolerance, false)
		if len(names(a.Tolerance)) == 0 {
			b.tolerance(path+".tolerance", a.Tolerance)
		}
	}
}

func (b *builder) checkReference(path string, at where, name string) {
	a := b.activities[name]
	switch {
	case a == nil:
		b.add(path+".ref", name, list(b.activities))
	case at == inHypothesis && (a.Type != "probe" || a.Tolerance == nil):
		b.add(path+".ref", name, "in a hypothesis, a probe with a tolerance")
	}
}

// checkEmbedded checks an activity that is a value or a tolerance.
func (b *builder) checkEmbedded(path string, v any) {
	a, err := embedded(v)
	if err != nil {
		b.cause(path, err)
		return
	}
	b.checkNames(path+".timeout", a.Timeout, false)
	b.checkProvider(path+".provider", a.Provider)
}

func (b *builder) checkProvider(path string, p *Provider) {
	b.checkScopes(path+".secrets", p.Secrets)
	b.checkNames(path+".timeout", p.Timeout, false)
	b.checkNames(path+".url", p.URL, true)
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		b.checkNames(below(path+".headers", name), p.Headers[name], true)
	}
	var args any
	if p.Arguments != nil && decode(p.Arguments, &args) == nil {
		b.checkNames(path+".arguments", args, true)
		if text, ok := args.(string); ok {
			if _, err := split(text); err != nil {
				b.cause(path+".arguments", err)
			}
		}
	}
	switch p.Type {
	case "process":
		if b.providers.NoProcesses {
			b.add(path+".type", p.Type, "function, python, http; processes are switched off")
		}
	case "function", "python":
		if name := p.Module + "." + p.Func; b.providers.Funcs[name] == nil {
			b.add(path+".func", name, "a registered function: "+list(b.providers.Funcs))
		}
	}
}

func (b *builder) checkScopes(path string, scopes []string) {
	for i, scope := range scopes {
		if _, ok := b.doc.Secrets[scope]; !ok {
			b.add(path+"["+strconv.Itoa(i)+"]", scope, list(b.doc.Secrets))
		}
	}
}

func (b *builder) checkControls(path string, controls []Control) {
	for i, c := range controls {
		if _, ok := b.providers.Controls[c.Provider.Module]; !ok {
			at := path + "[" + strconv.Itoa(i) + "].provider.module"
			b.add(at, c.Provider.Module, "a registered control: "+list(b.providers.Controls))
		}
	}
}

// checkNames looks up every ${name} of a value. outputs means that it may name an
// activity.
func (b *builder) checkNames(path string, v any, outputs bool) {
	if b.providers.ChaosToolkit {
		return
	}
	for _, name := range names(v) {
		_, known := b.doc.Configuration[name]
		for _, scope := range b.doc.Secrets {
			_, inScope := scope[name]
			known = known || inScope
		}
		allowed := "a configuration value or a secret; $${ for the characters themselves"
		if outputs {
			activity, _, _ := strings.Cut(name, ":")
			known = known || b.activities[activity] != nil
			allowed = "a configuration value, a secret or an activity; $${ for the characters themselves"
		}
		if !known {
			b.add(path, "${"+name+"}", allowed)
		}
	}
}

// list formats the known names.
func list[V any](known map[string]V) string {
	if len(known) == 0 {
		return "none is known"
	}
	return strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}
