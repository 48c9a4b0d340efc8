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
	components  map[string]Component
	power       map[string]string
	transitions []*transition
	begun       int // transitions, ever
	mux         http.ServeMux
}

// New makes a cluster of eight nodes, all on but the last.
func New() *API {
	a := &API{power: make(map[string]string), components: make(map[string]Component)}
	for i := range 8 {
		c := Component{ID: fmt.Sprintf("x0c0s%db0n0", i), Role: "Compute"}
		if i == 0 {
			c.Role = "Management"
		}
		a.components[c.ID], a.power[c.ID] = c, "on"
	}
	a.power["x0c0s7b0n0"] = "off"
	a.routes()
	return a
}

func (a *API) routes() {
	a.handle("GET /components", func(*http.Request) (any, error) { return a.list(), nil })
	a.handle("GET /components/{id}", func(req *http.Request) (any, error) { return a.get(req.PathValue("id")) })
	a.handle("DELETE /components/{id}", a.delete)
	a.handle("GET /summary", a.summary)
	a.handle("GET /power/status", a.powerStatus)
	a.handle("GET /power/transitions", a.listTransitions)
	a.handle("GET /power/transitions/{id}", a.getTransition)
	a.handle("POST /power/transitions", a.createTransition)
	a.handle("DELETE /power/transitions/{id}", a.abortTransition)
	a.handle("/", func(req *http.Request) (any, error) {
		return nil, problem(404, "not-found", "There is no "+req.URL.Path, nil)
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

// problem makes problem details of a kind of this API's own. more are its further members.
func problem(status int, kind, detail string, more map[string]any) *policy.Problem {
	return &policy.Problem{Type: "https://cluster.example/problems/" + kind, Title: http.StatusText(status),
		Status: status, Detail: detail, Extensions: more}
}

func refuse(w http.ResponseWriter, req *http.Request, err error) {
	p, ok := err.(*policy.Problem)
	if !ok {
		p = problem(500, "internal", err.Error(), nil)
	}
	p.Instance = req.URL.Path
	text, _ := json.Marshal(p)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	w.Write(text)
}

func (a *API) list() []Component {
	all := make([]Component, 0, len(a.components))
	for _, id := range slices.Sorted(maps.Keys(a.components)) {
		all = append(all, a.components[id])
	}
	return all
}

func (a *API) get(id string) (Component, error) {
	got, ok := a.components[id]
	if !ok {
		return got, problem(404, "not-found", fmt.Sprintf("There is no component %q", id), nil)
	}
	return got, nil
}

// delete refuses to delete what has power.
func (a *API) delete(req *http.Request) (any, error) {
	old, err := a.get(req.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if a.power[old.ID] == "on" {
		return nil, problem(409, "in-use", fmt.Sprintf("Component %q is on", old.ID), map[string]any{"state": "on"})
	}
	delete(a.components, old.ID)
	delete(a.power, old.ID)
	return old, nil
}

func (a *API) summary(*http.Request) (any, error) {
	s := Summary{Components: len(a.components), ByRole: make(map[string]int)}
	for _, c := range a.components {
		s.ByRole[c.Role]++
		if a.power[c.ID] == "on" {
			s.PoweredOn++
		}
	}
	for _, t := range a.transitions {
		if !t.over() {
			s.TransitionsInProgress++
		}
	}
	return s, nil
}
