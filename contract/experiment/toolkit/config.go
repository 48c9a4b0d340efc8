package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/shakedown-go/shakedown/contract/experiment"
)

var envTypes = []string{"str", "int", "float", "bool", "json"}

// checkConfiguration checks {name: literal | env | probe}.
func checkConfiguration(n node) {
	if !n.has {
		return
	}
	n.object().each(func(_ string, n node) {
		switch kindOf(n.v) {
		case "":
		case "env":
			checkEnv(n)
		case "probe":
			checkActivity(n, inValue)
		default:
			n.object().get("type").wrong("env, probe")
		}
	})
}

// checkSecrets checks {scope: {name: literal | env}}.
func checkSecrets(n node) {
	if !n.has {
		return
	}
	n.object().each(func(_ string, n node) {
		n.object().each(func(_ string, n node) {
			switch n.v.(type) {
			case string, bool, json.Number:
				return
			}
			if kindOf(n.v) != "env" {
				n.wrong(`a text, or {"type": "env", …}; vaults are not supported`)
				return
			}
			checkEnv(n)
		})
	})
}

func checkEnv(n node) {
	o := n.object("type", "key", "default", "env_var_type")
	o.needed("key")
	choice(o.get("env_var_type"), envTypes...)
}

// kindOf returns the member type of an object, if it is a text.
func kindOf(v any) string {
	object, _ := v.(map[string]any)
	kind, _ := object["type"].(string)
	return kind
}

// resolve loads the configuration and the secrets: values from the environment
// first. Probes come last, because they may use the others.
func (b *builder) resolve(ctx context.Context) {
	b.values = values{config: make(map[string]any), secrets: make(map[string]string)}
	for _, name := range slices.Sorted(maps.Keys(b.doc.Configuration)) {
		v, path := b.doc.Configuration[name], below("configuration", name)
		switch kindOf(v) {
		case "probe":
			continue
		case "env":
			v = b.env(path, v.(map[string]any))
		}
		b.values.config[name] = v
	}
	b.scopedSecrets = make(map[string]string)
	for _, scope := range slices.Sorted(maps.Keys(b.doc.Secrets)) {
		for _, name := range slices.Sorted(maps.Keys(b.doc.Secrets[scope])) {
			v := b.doc.Secrets[scope][name]
			if kindOf(v) == "env" {
				v = b.env(below(below("secrets", scope), name), v.(map[string]any))
			}
			if _, taken := b.values.secrets[name]; !taken {
				b.values.secrets[name] = spell(v)
			}
			b.scopedSecrets[scope+"."+name] = spell(v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.doc.Configuration)) {
		if v := b.doc.Configuration[name]; kindOf(v) == "probe" {
			b.values.config[name] = b.ask(ctx, below("configuration", name), v)
		}
	}
}

// env reads a variable of the environment.
func (b *builder) env(path string, v map[string]any) any {
	key, _ := v["key"].(string)
	kind, _ := v["env_var_type"].(string)
	text, ok := b.providers.getenv(key)
	if !ok {
		value, ok := v["default"]
		if !ok {
			b.cause(path, fmt.Errorf("the environment has no %s, and there is no default", key))
		}
		return value
	}
	value, err := convert(text, kind)
	if err != nil { // the text may be a secret, so the error leaves it out
		b.cause(path, fmt.Errorf("the environment's %s is no %s", key, kind))
	}
	return value
}

func convert(text, kind string) (v any, err error) {
	switch kind {
	case "int":
		_, err = strconv.ParseInt(text, 10, 64)
		return json.Number(text), err
	case "float":
		if _, err = strconv.ParseFloat(text, 64); err == nil && !json.Valid([]byte(text)) {
			err = errors.New("no JSON number")
		}
		return json.Number(text), err
	case "bool":
		return strconv.ParseBool(text)
	case "json":
		err = decode([]byte(text), &v)
		return v, err
	}
	return text, nil
}

// ask runs the probe of a configuration value.
func (b *builder) ask(ctx context.Context, path string, v any) any {
	a, err := embedded(v)
	if err != nil {
		b.cause(path, err)
		return nil
	}
	call, vs := b.provider(a.Provider, path+".provider"), b.values
	var output any
	j, err := experiment.Run(ctx, &experiment.Experiment{ // which turns a panic or a hang into an error
		Name: path, Secrets: b.scopedSecrets,
		Method: []experiment.Activity{{
			Name: path, Kind: experiment.Probe, Timeout: b.seconds(below(path, "timeout"), a.Timeout),
			Run: func(ctx context.Context) (_ any, err error) { output, err = call(ctx, vs); return nil, err },
		}},
	}, nil)
	switch {
	case err != nil:
		b.cause(path, err)
	case j.Status != experiment.Completed:
		b.cause(path, errors.New(j.Why))
	case j.Run[0].Status != experiment.ActivitySucceeded:
		b.cause(path, errors.New(j.Run[0].Exception))
	default:
		return output
	}
	return nil
}

// embedded reads an activity that is a value or a tolerance.
func embedded(v any) (*Activity, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	a := &Activity{}
	return a, decode(doc, a)
}
