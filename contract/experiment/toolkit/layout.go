package toolkit

import (
	"encoding/json"
	"math"

	"github.com/shakedown-go/shakedown/contract/experiment"
)

func checkDocument(n node) {
	o := n.object("version", "title", "description", "tags", "contributions", "configuration", "secrets", "controls",
		"extensions", "runtime", "steady-state-hypothesis", "method", "rollbacks")
	o.get("version").text()
	o.get("tags").texts()
	o.needed("title")
	if n, ok := o.need("description", "a text"); ok {
		n.text()
	}
	if n := o.get("contributions"); n.has {
		n.object().each(func(_ string, n node) {
			choice(n, experiment.ContributionHigh, experiment.ContributionMedium, experiment.ContributionLow,
				experiment.ContributionNone)
		})
	}
	checkConfiguration(o.get("configuration"))
	checkSecrets(o.get("secrets"))
	checkControls(o.get("controls"))
	for _, n := range o.get("extensions").list() {
		n.object()
	}
	checkRuntime(o.get("runtime"))
	if n := o.get("steady-state-hypothesis"); n.has && n.v != nil {
		o := n.object("title", "probes", "controls")
		o.needed("title")
		checkControls(o.get("controls"))
		checkActivities(o.get("probes"), inHypothesis)
	}
	if n, ok := o.need("method", "a list of activities, which may be empty"); ok {
		checkActivities(n, inMethod)
	}
	checkActivities(o.get("rollbacks"), inRollbacks)
}

func checkRuntime(n node) {
	if !n.has {
		return
	}
	o := n.object("rollbacks", "hypothesis")
	if n := o.get("rollbacks"); n.has {
		choice(n.object("strategy").get("strategy"), experiment.RollbackDefault,
			experiment.RollbackAlways, experiment.RollbackNever, experiment.RollbackDeviated)
	}
	if n := o.get("hypothesis"); n.has {
		o := n.object("strategy", "frequency", "fail_fast", "fail_fast_ratio")
		choice(o.get("strategy"), experiment.BeforeAndAfter, experiment.BeforeOnly, experiment.AfterOnly,
			experiment.DuringOnly, experiment.Continuously, experiment.Skip)
		o.get("frequency").number()
		o.get("fail_fast").flag()
		if n := o.get("fail_fast_ratio"); n.number() > 1 {
			n.wrong("a number from 0 to 1")
		}
	}
}

// where is the place of an activity in a document.
type where uint8

const (
	inHypothesis where = iota
	inMethod
	inRollbacks
	inValue // of a configuration or a tolerance
)

func checkActivities(n node, at where) {
	for _, item := range n.list() {
		checkActivity(item, at)
	}
}

func checkActivity(n node, at where) {
	if members, ok := n.v.(map[string]any); ok && members["ref"] != nil && at != inValue {
		n.object("ref").get("ref").name()
		return
	}
	o := n.object("type", "name", "provider", "tolerance", "background", "pauses", "timeout", "dry", "configuration",
		"secrets", "controls")
	if n, ok := o.need("type", "probe, action"); ok {
		if kind := choice(n, experiment.Probe, experiment.Action); kind == experiment.Action &&
			(at == inHypothesis || at == inValue) {
			n.wrong("probe")
		}
	}
	if at != inValue {
		o.needed("name")
	} else {
		o.get("name").text()
	}
	if n, ok := o.need("provider", "an object"); ok {
		checkProvider(n)
	}
	if n := o.get("tolerance"); n.has {
		checkTolerance(n)
	} else if at == inHypothesis {
		o.need("tolerance", "a boolean, a number, a text, a list or an object")
	}
	if n := o.get("background"); n.flag() && at != inMethod {
		n.wrong("true only in the method")
	}
	if n := o.get("pauses"); n.has {
		o := n.object("before", "after")
		o.get("before").seconds()
		o.get("after").seconds()
	}
	o.get("timeout").seconds()
	o.get("dry").flag()
	o.get("configuration").texts()
	o.get("secrets").texts()
	checkControls(o.get("controls"))
}

func checkProvider(n node) {
	members, _ := n.v.(map[string]any)
	kind, _ := members["type"].(string)
	allowed := map[string][]string{
		"function": {"type", "module", "func", "arguments", "secrets"},
		"python":   {"type", "module", "func", "arguments", "secrets"},
		"http": {"type", "url", "method", "headers", "arguments", "timeout", "verify_tls", "max_retries",
			"secrets"},
		"process": {"type", "path", "arguments", "timeout", "secrets"},
	}[kind]
	o := n.object(allowed...)
	if n, ok := o.need("type", "function, python, http, process"); ok {
		choice(n, "function", "python", "http", "process")
	}
	o.get("secrets").texts()
	if n := o.get("arguments"); n.has && kind != "" {
		checkArguments(n, kind == "process")
	}
	switch kind {
	case "function", "python":
		o.needed("module")
		o.needed("func")
	case "process":
		o.needed("path")
		o.get("timeout").seconds()
	case "http":
		checkHTTP(o)
	}
}

func checkArguments(n node, process bool) {
	switch v := n.v.(type) {
	case map[string]any:
		return
	case []any, string:
		if process {
			return
		}
	case nil:
		n.v = json.RawMessage("null")
	default:
		n.v = v
	}
	if process {
		n.wrong("an object, a list, a text")
	} else {
		n.wrong("an object")
	}
}

func checkHTTP(o object) {
	o.needed("url")
	o.get("method").name()
	o.get("timeout").seconds()
	o.get("verify_tls").flag()
	if n := o.get("max_retries"); n.has {
		if retries := n.number(); retries != math.Trunc(retries) || retries > 100 {
			n.wrong("a whole number from 0 to 100")
		}
	}
	if n := o.get("headers"); n.has {
		n.object().each(func(_ string, n node) { n.text() })
	}
}

func checkControls(n node) {
	for _, item := range n.list() {
		o := item.object("name", "provider", "scope", "automatic")
		o.needed("name")
		choice(o.get("scope"), "before", "after")
		o.get("automatic").flag()
		if n, ok := o.need("provider", "an object"); ok {
			p := n.object("type", "module", "secrets")
			p.needed("module")
			p.get("secrets").texts()
			if n, ok := p.need("type", "function, python"); ok {
				choice(n, "function", "python")
			}
		}
	}
}
