package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// maxBody bounds a request, in bytes.
const maxBody = 1 << 20

// An API is the management service of one cluster, and its handler. It is safe
// for concurrent use.
type API struct {
	mu          sync.Mutex // guards all below
	components  collection[Component]
	groups      collection[Group]
	power       map[string]string
	transitions []*transition
	begun       int // transitions, ever
	mux         http.ServeMux
}

// collection holds things by name.
type collection[T item] struct {
	noun  string
	items map[string]T
}

// New makes a cluster of eight nodes, all on but the last.
func New() *API {
	a := &API{power: make(map[string]string),
		components: collection[Component]{"component", make(map[string]Component)},
		groups:     collection[Group]{"group", make(map[string]Group)},
	}
	compute := Group{ID: "compute", Description: "nodes that work"}
	for i := range 8 {
		c := Component{ID: fmt.Sprintf("x0c0s%db0n0", i), Type: "Node", Role: "Compute", Arch: "X86", Enabled: true}
		if i == 0 {
			c.Role = "Management"
		} else {
			compute.Members = append(compute.Members, c.ID)
		}
		a.components.items[c.ID], a.power[c.ID] = c, "on"
	}
	a.power["x0c0s7b0n0"] = "off"
	a.groups.items[compute.ID] = compute
	a.routes()
	return a
}

func (a *API) routes() {
	serve(a, "/components", &a.components, a.componentGone)
	serve(a, "/groups", &a.groups, nil)
	a.handle("GET /summary", a.summary)
	a.handle("GET /power/status", a.powerStatus)
	a.handle("GET /power/actions", a.powerActions)
	a.handle("GET /power/transitions", a.listTransitions)
	a.handle("GET /power/transitions/{id}", a.getTransition)
	a.handle("POST /power/transitions", a.createTransition)
	a.handle("DELETE /power/transitions/{id}", a.abortTransition)
	a.handle("/", func(req *http.Request) (any, error) {
		return nil, problem(404, "not-found", "There is no "+req.URL.Path)
	})
}

// ServeHTTP answers a request, after what has happened since the last one.
func (a *API) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	req.Body = http.MaxBytesReader(w, req.Body, maxBody)
	a.mux.ServeHTTP(w, req)
}

// handle gives a function the lock, the present, and an answer in JSON.
func (a *API) handle(pattern string, h func(*http.Request) (any, error)) {
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		a.mu.Lock()
		a.advance(time.Now())
		answer, err := h(req)
		text, marshalErr := json.Marshal(answer) // under the lock: it may be what the API holds
		a.mu.Unlock()
		if err == nil {
			err = marshalErr
		}
		if err != nil {
			refuse(w, req, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(text)
	})
}

// problem makes problem details of a kind of this API's own.
func problem(status int, kind, detail string) *policy.Problem {
	return &policy.Problem{Type: "https://cluster.example/problems/" + kind, Title: http.StatusText(status),
		Status: status, Detail: detail}
}

func refuse(w http.ResponseWriter, req *http.Request, err error) {
	p, ok := err.(*policy.Problem)
	if !ok {
		p = problem(500, "internal", err.Error())
	}
	p.Instance = req.URL.Path
	text, _ := json.Marshal(p)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	w.Write(text)
}

// read decodes a body strictly.
func read(req *http.Request, into any) error {
	dec := json.NewDecoder(req.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return problem(400, "malformed", "The body is not what was expected: "+err.Error())
	}
	return nil
}

func checked(found []invalid) error {
	if len(found) == 0 {
		return nil
	}
	p := problem(400, "invalid", fmt.Sprintf("%d member(s) of the request are not allowed", len(found)))
	p.Extensions = map[string]any{"errors": found}
	return p
}

// serve answers for a collection. gone is asked before a thing is deleted, and
// may be nil.
func serve[T item](a *API, path string, c *collection[T], gone func(id string) error) {
	a.handle("GET "+path, func(*http.Request) (any, error) { return c.list(), nil })
	a.handle("GET "+path+"/{id}", func(req *http.Request) (any, error) { return c.get(req.PathValue("id")) })
	a.handle("POST "+path, func(req *http.Request) (any, error) { return c.put(a, req, "") })
	a.handle("PUT "+path+"/{id}", func(req *http.Request) (any, error) { return c.put(a, req, req.PathValue("id")) })
	a.handle("DELETE "+path+"/{id}", func(req *http.Request) (any, error) {
		old, err := c.get(req.PathValue("id"))
		if err == nil && gone != nil {
			err = gone(old.key())
		}
		if err != nil {
			return nil, err
		}
		delete(c.items, old.key())
		return old, nil
	})
}

func (c *collection[T]) list() []T {
	all := make([]T, 0, len(c.items))
	for _, id := range slices.Sorted(maps.Keys(c.items)) {
		all = append(all, c.items[id])
	}
	return all
}

func (c *collection[T]) get(id string) (T, error) {
	got, ok := c.items[id]
	if !ok {
		return got, problem(404, "not-found", fmt.Sprintf("There is no %s %q", c.noun, id))
	}
	return got, nil
}

// put creates, or replaces what has the id.
func (c *collection[T]) put(a *API, req *http.Request, id string) (any, error) {
	var thing T
	if err := read(req, &thing); err != nil {
		return nil, err
	}
	_, exists := c.items[thing.key()]
	switch {
	case id == "" && exists:
		return nil, problem(409, "exists", fmt.Sprintf("There is a %s %q already", c.noun, thing.key()))
	case id != "" && id != thing.key():
		return nil, checked([]invalid{{"id", thing.key(), id}})
	case id != "" && !exists:
		return c.get(id)
	}
	if err := checked(thing.check(a)); err != nil {
		return nil, err
	}
	c.items[thing.key()] = thing
	if component, ok := any(thing).(Component); ok && !exists {
		a.power[component.ID] = "off"
	}
	return thing, nil
}

// componentGone refuses to delete what others refer to.
func (a *API) componentGone(id string) error {
	var in []string
	for _, g := range a.groups.list() {
		if slices.Contains(g.Members, id) {
			in = append(in, g.ID)
		}
	}
	if len(in) > 0 {
		p := problem(409, "in-use", fmt.Sprintf("Component %q is a member of a group", id))
		p.Extensions = map[string]any{"groups": in}
		return p
	}
	delete(a.power, id)
	return nil
}

func (a *API) summary(*http.Request) (any, error) {
	s := Summary{Components: len(a.components.items), Groups: len(a.groups.items), ByRole: make(map[string]int)}
	for _, c := range a.components.items {
		s.ByRole[c.Role]++
		if a.power[c.ID] == "on" {
			s.PoweredOn++
		}
	}
	for _, t := range a.transitions {
		if !t.over {
			s.TransitionsInProgress++
		}
	}
	return s, nil
}
