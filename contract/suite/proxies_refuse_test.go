package suite_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/contract/suite"
)

// What is wrong with proxies, tools and the state, and what cannot be injected through them, is a
// problem of the file, at its place.
func TestProxiesAreRefused(t *testing.T) {
	const desk = "{listen: '127.0.0.1:8081', to: 'http://desk.test:9', point: desk, paths: {/refund: refund, /v1/chat/completions: brain}}"
	for _, row := range []struct{ why, agent, scenario, want string }{
		{"all is well", "proxies: [" + desk + "], tools: [{name: refund, effect: done, idempotencyKey: /key}], state: {url: 'http://desk.test:9/'}",
			"{name: a, tool_faults: [{tool: 're*', mode: slow}], llm_faults: [{point: 'brain#gpt*', api: openai, mode: empty}]}", ""},
		{"every part is missing", "proxies: [{}]", "", "agent/proxies/0/listen is missing; agent/proxies/0/to is missing; agent/proxies/0/point is missing"},
		{"no proxy", "proxies: []", "", "@[]@: agent/proxies is []; allowed: one proxy or more"},
		{"no list", "proxies: {}", "", "@{}@: agent/proxies is an object; allowed: a list"},
		{"no object", "proxies: [desk]", "", "@desk]@: agent/proxies/0 is a string; allowed: an object"},
		{"a key that is not known", "proxies: [{listen: 'a:1', lisen: b, to: 'http://a', point: a}]", "", "@lisen@: agent/proxies/0/lisen is unknown; allowed: one of listen, to, point, paths; did you mean listen?"},
		{"an address without a port", "proxies: [{listen: localhost, to: 'http://a', point: a}]", "",
			"@localhost@: agent/proxies/0/listen is \"localhost\"; allowed: host:port with a port from 1 to 65535"},
		{"the port 0", "proxies: [{listen: ':0', to: 'http://a', point: a}]", "", `@':0'@: agent/proxies/0/listen is ":0"; allowed: host:port`},
		{"a port that there is not", "proxies: [{listen: 'a:65536', to: 'http://a', point: a}]", "", `listen is "a:65536"`},
		{"a URL to listen at", "proxies: [{listen: 'http://a:80', to: 'http://a', point: a}]", "", `listen is "http://a:80"`},
		{"an address twice", "proxies: [" + desk + ", {listen: '127.0.0.1:8081', to: 'http://b', point: b}]", "",
			`@'127.0.0.1:8081', to: 'http://b'@: agent/proxies/1/listen: "127.0.0.1:8081" is there twice, first in line 9`},
		{"no absolute URL", "proxies: [{listen: 'a:1', to: /b, point: a}]", "", `@/b,@: agent/proxies/0/to is "/b"; allowed: an absolute http or https URL`},
		{"a query", "proxies: [{listen: 'a:1', to: 'http://b/?x=1', point: a}]", "", "agent/proxies/0/to: a URL with a query, a fragment or a user"},
		{"a proxy in front of itself", "proxies: [{listen: 'a:1', to: 'http://a:1', point: a}]", "", "@'http://a:1'@: agent/proxies/0/to: a:1 is the address of a proxy"},
		{"a proxy in front of itself by another name", "proxies: [{listen: ':1', to: 'http://LOCALHOST:1', point: a}]", "", "agent/proxies/0/to: LOCALHOST:1 is the address of a proxy"},
		{"an address of all of the machine", "proxies: [" + desk + ", {listen: ':8081', to: 'http://b', point: b}]", "", `"127.0.0.1:8081" is there twice`},
		{"a state that is read through a proxy", "proxies: [" + desk + "], state: {url: 'http://127.0.0.1:8081/state'}", "",
			"@'http://127.0.0.1:8081/state'@: agent/state/url: 127.0.0.1:8081 is the address of a proxy; allowed: the address of what is behind the proxy"},
		{"a reset through a proxy", "proxies: [" + desk + "], reset_endpoint: 'http://127.0.0.1:8081/'", "", "agent/reset_endpoint: 127.0.0.1:8081 is the address of a proxy"},
		{"a point without a name", "proxies: [{listen: 'a:1', to: 'http://b', point: ' '}]", "", `agent/proxies/0/point is " "; allowed: the name of an injection point`},
		{"a name with a #", "proxies: [{listen: 'a:1', to: 'http://b', point: 'a#b'}]", "", `agent/proxies/0/point is "a#b"`},
		{"no path", "proxies: [{listen: 'a:1', to: 'http://b', point: a, paths: {}}]", "", "agent/proxies/0/paths is {}; allowed: one path or more"},
		{"an empty path", "proxies: [{listen: 'a:1', to: 'http://b', point: a, paths: {'': b}}]", "", `the path ""; allowed: the whole path of a request, such as /refund`},
		{"a path without a slash", "proxies: [{listen: 'a:1', to: 'http://b', point: a, paths: {refund: b}}]", "", `agent/proxies/0/paths/refund: the path "refund"`},
		{"a path without a name", "proxies: [{listen: 'a:1', to: 'http://b', point: a, paths: {/refund: ''}}]", "", `agent/proxies/0/paths/~1refund is ""`},
		{"a path of another kind", "proxies: [{listen: 'a:1', to: 'http://b', point: a, paths: {/refund: 3}}]", "", "agent/proxies/0/paths/~1refund is a number; allowed: a string"},
		{"a tool that no path leads to", "proxies: [" + desk + "], tools: [{name: refnud}]", "", `@refnud@: agent/tools/0/name is "refnud"; allowed: one of refund; did you mean refund?`},
		{"a tool that is a model", "proxies: [" + desk + "], tools: [{name: brain}]", "", `agent/tools/0/name is "brain"; allowed: one of refund`},
		{"a tool that is every other path", "proxies: [" + desk + "], tools: [{name: desk}]", "", `agent/tools/0/name is "desk"`},
		{"tools without proxies", "tools: [{name: refund}]", "", `agent/tools/0/name is "refund"; allowed: names in paths of proxies, of which there are none`},
		{"a tool twice", "proxies: [" + desk + "], tools: [{name: refund}, {name: refund}]", "", `agent/tools/1/name: "refund" is there twice`},
		{"an effect", "proxies: [" + desk + "], tools: [{name: refund, effect: some}]", "", `agent/tools/0/effect is "some"; allowed: one of none, done, unknown`},
		{"a key that is no pointer", "proxies: [" + desk + "], tools: [{name: refund, idempotencyKey: key}]", "", `agent/tools/0/idempotencyKey is "key"; allowed: a JSON pointer`},
		{"a pointer that is none", "proxies: [" + desk + "], tools: [{name: refund, idempotencyKey: /a~2}]", "", `agent/tools/0/idempotencyKey is "/a~2"`},
		{"a state without an address", "state: {}", "", "agent/state/url is missing"},
		{"a state at no address", "state: {url: ledger}", "", `@ledger@: agent/state/url is "ledger"; allowed: an absolute http or https URL`},
		{"a tool that no proxy leads to", "proxies: [" + desk + "]", "{name: a, tool_faults: [{tool: refnud, mode: slow}]}",
			`9:31: contract/chaos_matrix/1/tool_faults/0: no proxy leads to "refnud", and points has no such name; allowed: one of desk, refund, brain; did you mean refund?`},
		{"a model that no proxy leads to", "proxies: [" + desk + "]", "{name: a, llm_faults: [{point: 'POST api.openai.com/*', api: openai, mode: empty}]}",
			`llm_faults/0: no proxy leads to "POST api.openai.com/*", `},
		{"a rule of a target that there is not", "proxies: [" + desk + "]", "{name: a, rules: [{target: 'x*', fault: {kind: hang}}]}", `rules/0: no proxy leads to "x*", `},
		{"a panic", "proxies: [" + desk + "]", "{name: a, rules: [{target: refund, fault: {kind: panic, params: {message: x}}}]}",
			`@panic@: contract/chaos_matrix/1/rules/0/fault/kind: the fault "panic" cannot be delivered through a proxy: the agent is another program; allowed: http_reset`},
		{"nobody listens", "proxies: [" + desk + "]", "{name: a, rules: [{target: refund, fault: {kind: http_refused}}]}", "the agent has reached the proxy; allowed: http_reset"},
	} {
		t.Run(row.why, func(t *testing.T) {
			text := contractOf("{type: completes}", calmly+"\n"+row.scenario) + "agent: {endpoint: 'http://agent.test/', " + row.agent + "}\n"
			if row.scenario == "" {
				text = contractOf("{type: completes}", calmly) + "agent: {endpoint: 'http://agent.test/', " + row.agent + "}\n"
			}
			if row.want == "" {
				loaded(t, text, nil)
				return
			}
			problems := problemsOf(t, text, nil)
			wants := strings.Split(placed(row.want, text), "; agent/")
			for i, want := range wants {
				if i > 0 {
					want = "agent/" + want
				}
				assert.Contains(t, strings.Join(problems, "\n"), want)
			}
			assert.Len(t, problems, len(wants))
		})
	}
}

// Where Go gives the worlds, what the file's proxies cannot do is no problem of the file; what they
// are is held to the same rules.
func TestProxiesBesideOwnWorlds(t *testing.T) {
	text := contractOf("{type: completes}", calmly+"\n{name: a, rules: [{target: x, fault: {kind: panic, params: {message: x}}}]}") +
		"agent: {endpoint: 'http://agent.test/', proxies: [{listen: 'a:1', to: 'http://b', point: a}]}\n"
	own := &suite.Options{OwnWorlds: true}
	loaded(t, text, own)
	assert.Contains(t, problemsOf(t, strings.Replace(text, "a:1", "a", 1), own)[0], "agent/proxies/0/listen")
	problems := problemsOf(t, text, &suite.Options{Hosts: []string{"agent.test"}, OwnWorlds: true})
	assert.Contains(t, problems[0], `agent/proxies/0/listen: the host "a:1" may not be named here`)
	assert.Contains(t, problems[1], `agent/proxies/0/to: the host "b" may not be named here`)
}

// The layer of a rule is that of what the proxies lead to, so that invariants are asked where they say.
func TestLayersOfProxies(t *testing.T) {
	for target, want := range map[string]string{
		"refund": "tool_faults_active", "brain": "llm_faults_active", "brain#gpt-4o": "llm_faults_active", "model": "llm_faults_active",
		"desk": "", "{desk,brain}": "llm_faults_active",
	} {
		text := contractOf("{id: a, type: completes}\n{id: b, type: completes, when: tool_faults_active}\n{id: c, type: completes, when: llm_faults_active}",
			calmly+"\n{name: x, rules: [{target: '"+target+"', fault: {kind: latency, params: {distribution: fixed, duration: 1s}}}]}") +
			"agent: {endpoint: 'http://agent.test/', tools: [{name: refund}], proxies: [{listen: 'a:1', to: 'http://b', point: desk, " +
			"paths: {/refund: refund, /v1/messages: brain}}, {listen: 'a:2', to: 'http://c', point: model}]}\n"
		asked := ""
		for _, problem := range problemsOf(t, text, nil) {
			if strings.Contains(problem, "invariants/1/when: an invariant that is asked in no scenario") {
				asked += "no tool "
			}
			if strings.Contains(problem, "invariants/2/when: an invariant that is asked in no scenario") {
				asked += "no llm "
			}
		}
		assert.Equal(t, map[string]string{"tool_faults_active": "no llm ", "llm_faults_active": "no tool ", "": "no tool no llm "}[want], asked, target)
	}
}
