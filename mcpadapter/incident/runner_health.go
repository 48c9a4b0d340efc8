package incident

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"
)

// Handler serves GET /healthz and GET /metrics. It shows counts and no secrets,
// and needs no credentials: listen where only trusted clients can connect.
//
// /healthz is 200 with "ok" while the runner can work, even if it has nothing
// to do. It is 503 with a line for each problem: the runner does not run, its
// disk refuses writes, or a store or notifier does not answer. /metrics has
// [Counts] as text that Prometheus reads, version 0.0.4.
func (r *Runner) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		problems := r.problems()
		if len(problems) == 0 {
			fmt.Fprintln(w, "ok")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, strings.Join(problems, "\n"))
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprint(w, r.metrics())
	})
	return mux
}

// problems returns what keeps the runner from working, one a line.
func (r *Runner) problems() (problems []string) {
	broken := r.disk.journal.Err() != nil
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun.Load() || r.closed {
		return []string{"the runner does not run"}
	}
	if broken {
		problems = append(problems, "the journal cannot be written")
	}
	if r.trouble != nil {
		problems = append(problems, "a record cannot be written")
	}
	for _, c := range []*courier{r.store, r.notifier} {
		if c != nil && c.blocked {
			problems = append(problems,
				fmt.Sprintf("the %s has not answered for %v", c.name, time.Since(c.since).Round(time.Second)))
		}
	}
	return problems
}

// metrics is the text format: for each name its help, its type and its samples.
func (r *Runner) metrics() string {
	healthy := uint64(0)
	if len(r.problems()) == 0 {
		healthy = 1
	}
	all := struct {
		Counts
		Healthy uint64 `metric:"healthy" help:"1: /healthz says ok."`
	}{r.Counts(), healthy}
	var b strings.Builder
	last, values := "", reflect.ValueOf(all)
	for _, f := range reflect.VisibleFields(values.Type()) {
		metric, counted := f.Tag.Lookup("metric")
		if !counted {
			continue
		}
		name, label, _ := strings.Cut("shakedown_incident_"+metric, " ")
		if name != last {
			kind := "gauge"
			if strings.HasSuffix(name, "_total") {
				kind = "counter"
			}
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, f.Tag.Get("help"), name, kind)
		}
		if key, value, has := strings.Cut(label, " "); has {
			label = fmt.Sprintf("{%s=%q}", key, value)
		}
		last = name
		fmt.Fprintf(&b, "%s%s %d\n", name, label, values.FieldByIndex(f.Index).Uint())
	}
	return b.String()
}

// Counts count the events that a runner was offered, or took over from an
// earlier runner, by what became of them. They start at zero with each runner.
// Queued, Running, Interrupted and Unsent are those of now.
//
// A malformed event is of neither shape or has impossible members, a filtered one is below
// the least severity, and a duplicate is like one before, within the window or while its
// agent runs. The oldest of a full queue is dropped, and what comes after the shutdown
// began is refused. When no event is being handled:
//
//	Received + Restored = Malformed + Filtered + Duplicate + Dropped + Refused +
//		Queued + Running + Interrupted + Resolved + Failed + AgentFailed
type Counts struct {
	Received      uint64 `json:"received" metric:"events_received_total" help:"Events that were offered."`
	Restored      uint64 `json:"restored" metric:"events_restored_total" help:"Events and incidents that an earlier runner left."`
	Malformed     uint64 `json:"malformed" metric:"events_total fate malformed" help:"Events that became no incident, by their fate."`
	Filtered      uint64 `json:"filtered" metric:"events_total fate filtered"`
	Duplicate     uint64 `json:"duplicate" metric:"events_total fate duplicate"`
	Dropped       uint64 `json:"dropped" metric:"events_total fate dropped"`
	Refused       uint64 `json:"refused" metric:"events_total fate refused"`
	Queued        uint64 `json:"queued" metric:"queued" help:"Events that wait for an agent."`
	Running       uint64 `json:"running" metric:"running" help:"Incidents under investigation."`
	Interrupted   uint64 `json:"interrupted" metric:"interrupted" help:"Incidents that will be resumed."`
	Resolved      uint64 `json:"resolved" metric:"ended_total status resolved" help:"Incidents that ended, by their status."`
	Failed        uint64 `json:"failed" metric:"ended_total status failed"`
	AgentFailed   uint64 `json:"agentFailed" metric:"ended_total status agent_failed"`
	StoreErrors   uint64 `json:"storeErrors" metric:"store_errors_total" help:"Records that could not be written at once."`
	JournalErrors uint64 `json:"journalErrors" metric:"journal_errors_total" help:"Steps that could not be written down at once."`
	Notified      uint64 `json:"notified" metric:"messages_total fate confirmed" help:"Messages, by what became of them."`
	MaybeSent     uint64 `json:"maybeSent" metric:"messages_total fate maybe_sent"`
	NotifyLost    uint64 `json:"notifyLost" metric:"messages_total fate lost"`
	Unsent        uint64 `json:"unsent" metric:"messages_unsent" help:"Messages that wait."`
	Blocked       uint64 `json:"blocked" metric:"blocked_total" help:"Calls of the store or the notifier that were over their time."`
}

// ended counts an incident by its status.
func (c *Counts) ended(s Status) {
	c.Running--
	switch s {
	case StatusResolved:
		c.Resolved++
	case StatusAgentFailed:
		c.AgentFailed++
	default:
		c.Failed++
	}
}
