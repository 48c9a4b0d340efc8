package suite

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/modelapi"
)

// A proxy stands in front of a server of the agent's tools, or of its model.
type proxy struct {
	listen, point  string
	to             *url.URL
	paths          map[string]string
	listens, leads fielderror.Error // the places of listen and to in the file, for errors
}

// target names the injection point of a path.
func (p *proxy) target(path string) string {
	if name, ok := p.paths[path]; ok {
		return name
	}
	return p.point
}

// proxies reads the proxies and the tools behind them.
func (l *loader) proxies(n node, p *agentPart, e *endpoint) {
	list := n.Get("proxies")
	l.r.filled(list, "one proxy or more", "")
	addresses, names := map[string]node{}, []string{}
	for i := range p.Proxies {
		item := list.At(i)
		if item.Kind() != jsonedit.Object {
			continue
		}
		one := &proxy{point: p.Proxies[i].Point, paths: p.Proxies[i].Paths}
		one.listen = l.address(item.Get("listen"))
		l.unique(addresses, here(one.listen), member(item, "listen"))
		l.pointName(item.Get("point"))
		l.paths(item.Get("paths"))
		if to := l.url(item.Get("to")); to != "" {
			one.to, _ = url.Parse(to)
			l.plain(item.Get("to"), one.to)
		}
		one.listens, one.leads = l.r.at(member(item, "listen")), l.r.at(member(item, "to"))
		e.proxies = append(e.proxies, one)
		l.proxied = append(l.proxied, one.point)
		for _, path := range slices.Sorted(maps.Keys(one.paths)) {
			name := one.paths[path]
			l.proxied = append(l.proxied, name)
			if modelapi.AsksModel(path) {
				l.models = append(l.models, name)
			} else if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	l.notThrough(addresses, n)
	l.tools(n.Get("tools"), p.Tools, names, e)
}

// address reads an address to listen at; "": there is none, or it was refused.
func (l *loader) address(n node) string {
	if n == nil || n.Kind() != jsonedit.String {
		return ""
	}
	text := l.expand(n, n.String())
	host, port, err := net.SplitHostPort(text)
	if number, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || number == 0 ||
		strings.ContainsAny(host, "/ ") {
		l.r.Refuse(n, "host:port with a port from 1 to 65535, such as 127.0.0.1:8081", nil)
		return ""
	}
	l.mayName(n, text, host)
	return strings.ToLower(text)
}

// plain refuses an address of which a request would lose a part.
func (l *loader) plain(n node, u *url.URL) {
	if u != nil && (u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		l.r.refuse(n, "a URL with a query, a fragment or a user", "scheme, host and path: the agent's requests have the rest")
	}
}

func (l *loader) pointName(n node) {
	const allowed = "the name of an injection point, without #"
	if n != nil && n.Kind() == jsonedit.String && (strings.Contains(n.String(), "#") || n.String() == chaos.ListTarget) {
		l.r.Refuse(n, allowed, nil)
		return
	}
	l.r.visible(n, allowed)
}

func (l *loader) paths(n node) {
	if n == nil || n.Kind() != jsonedit.Object {
		return
	}
	if n.Len() == 0 {
		l.r.Refuse(n, "one path or more", nil)
	}
	for i, path := range n.Keys() {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#*") {
			l.r.refuse(n.At(i), fmt.Sprintf("the path %q", path), "the whole path of a request, such as /refund")
		}
		l.pointName(n.At(i))
	}
}

// notThrough refuses what leads back to a proxy: a proxy itself, and what the run asks by itself,
// which would be no request of the agent.
func (l *loader) notThrough(addresses map[string]node, agent node) {
	nodes := []node{agent.Get("endpoint"), agent.Get("reset_endpoint"), within(agent, "/state/url")}
	if list := agent.Get("proxies"); list != nil {
		for _, item := range list.Values() {
			nodes = append(nodes, member(item, "to"))
		}
	}
	for _, n := range nodes {
		if n == nil || n.Kind() != jsonedit.String {
			continue
		}
		if u, err := url.Parse(os.ExpandEnv(n.String())); err == nil && addresses[here(u.Host)] != nil {
			l.r.refuse(n, fmt.Sprintf("%s is the address of a proxy", u.Host), "the address of what is behind the proxy")
		}
	}
}

// here is an address that can be compared: what stands for this machine has one name.
func here(address string) string {
	address = strings.ToLower(address)
	switch host, port, _ := net.SplitHostPort(address); host {
	case "localhost", "", "0.0.0.0", "::":
		if port != "" {
			return "127.0.0.1:" + port
		}
	}
	return address
}

// pointer is a JSON pointer to a part of a document (RFC 6901, section 3).
var pointer = regexp.MustCompile(`^/([^~]|~[01])*$`)

// tools reads what the file says of tools. names are the points of paths that are no models.
func (l *loader) tools(n node, tools []toolPart, names []string, e *endpoint) {
	l.r.filled(n, "one tool or more", "")
	first := map[string]node{}
	for i, t := range tools {
		item := n.At(i)
		if item.Kind() != jsonedit.Object || item.Get("name") == nil || item.Get("name").Kind() != jsonedit.String {
			continue
		}
		l.unique(first, t.Name, item.Get("name"))
		if !slices.Contains(names, t.Name) {
			allowed := "names in paths of proxies, of which there are none"
			if len(names) > 0 {
				allowed = oneOf(t.Name, names)
			}
			l.r.add(item.Get("name"), &fielderror.Error{Value: t.Name, Allowed: allowed})
		}
		if key := t.IdempotencyKey; key != "" && !pointer.MatchString(key) {
			l.r.Refuse(item.Get("idempotencyKey"), `a JSON pointer to a member of the request's body, such as "/key"`, nil)
		}
		e.tools = append(e.tools, chaos.Tool{Name: t.Name, Effect: t.Effect, IdempotencyKey: t.IdempotencyKey})
	}
}

// leads reports whether a glob of targets matches an injection point of a proxy; that of a model
// may have the model behind a #.
func (l *loader) leads(target string, names []string) bool {
	name, _, _ := strings.Cut(target, "#")
	for _, pattern := range []string{target, name} {
		if g, err := glob.Compile(pattern); err == nil && slices.ContainsFunc(names, g.Match) {
			return true
		}
	}
	return false
}

// allPoints are the points of the file, and those of the proxies that are no tools.
func (l *loader) allPoints(e *endpoint) []string {
	points := slices.Clone(l.points)
	for _, name := range l.proxied {
		isTool := slices.ContainsFunc(e.tools, func(t chaos.Tool) bool { return t.Name == name })
		if l.overHTTP && name != "" && !isTool && !slices.Contains(points, name) {
			points = append(points, name)
		}
	}
	return points
}

// modelNames are the injection points of proxies that are those of models; nil: there are no
// proxies.
func (l *loader) modelNames() []string {
	if len(l.proxied) == 0 || !l.overHTTP {
		return nil
	}
	named, _ := glob.Compile(modelapi.Named)
	names := append([]string{}, l.models...)
	for _, name := range l.proxied {
		if named.Match(name) || modelapi.IsCall(name) {
			names = append(names, name)
		}
	}
	return names
}

// undeliverable are the kinds of faults that no proxy delivers, with the reason and what to do. A test
// tries all kinds.
var undeliverable = []struct{ why, instead, kinds string }{
	{"the agent has reached the proxy", "http_reset, http_hang_up, http_status",
		"http_refused dns_not_found tls_failure"},
	{"the agent is another program", "http_reset, http_hang_up, http_status", "panic"},
	{"it counts connections to a SQL database", "http_status", "connection_limit"},
	{"it calls a function of this process", "replace, and the kinds of lies", "mutate"},
	{"it is about streams of Go", "slow_first_event, slow_events, hanging_stream and the other kinds about events of a stream",
		"stream_cut stream_hang slow_first_item slow_items duplicate_item malformed_item early_end missing_terminator " +
			"reordered_items"},
	{"it changes arguments, and a request is passed on as it is", "kinds that change the answer",
		"changed_call handoff_corrupt misroute"},
	{"it changes what a Go program lists as its tools", "kinds that change the answer", "poisoned_tool shadowed_tool " +
		"churned_tools changed_arguments"},
	{"it changes the messages of a Go program", "kinds that change what a model says", "truncated_messages stale_messages " +
		"dropped_messages reordered_messages duplicated_message noise_messages overflowed_messages poisoned_memory"},
}

// deliverable refuses a fault that no proxy delivers.
func (l *loader) deliverable(n node, f chaos.Fault) {
	named, ok := f.(chaos.Described)
	if !ok {
		return
	}
	kind := named.Describe().Kind
	for _, u := range undeliverable {
		if slices.Contains(strings.Fields(u.kinds), kind) {
			l.r.refuse(within(n, "/fault/kind"), fmt.Sprintf("the fault %q cannot be delivered through a proxy: %s", kind, u.why), u.instead)
		}
	}
}
