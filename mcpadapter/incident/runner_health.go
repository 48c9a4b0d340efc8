package incident

import (
	"fmt"
	"net/http"
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
	c := r.Counts()
	healthy := uint64(0)
	if len(r.problems()) == 0 {
		healthy = 1
	}
	var b strings.Builder
	last := ""
	for _, m := range []struct {
		name, label string // one after the other those of a name; label "": none
		value       uint64
		help        string // of the name, with its first label
	}{
		{"events_received_total", "", c.Received, "Events that were offered."},
		{"events_restored_total", "", c.Restored, "Events and incidents that an earlier runner left."},
		{"events_total", `{fate="malformed"}`, c.Malformed, "Events that became no incident, by their fate."},
		{"events_total", `{fate="filtered"}`, c.Filtered, ""},
		{"events_total", `{fate="duplicate"}`, c.Duplicate, ""},
		{"events_total", `{fate="dropped"}`, c.Dropped, ""},
		{"events_total", `{fate="refused"}`, c.Refused, ""},
		{"queued", "", c.Queued, "Events that wait for an agent."},
		{"running", "", c.Running, "Incidents under investigation."},
		{"interrupted", "", c.Interrupted, "Incidents that will be resumed."},
		{"ended_total", `{status="resolved"}`, c.Resolved, "Incidents that ended, by their status."},
		{"ended_total", `{status="failed"}`, c.Failed, ""},
		{"ended_total", `{status="agent_failed"}`, c.AgentFailed, ""},
		{"store_errors_total", "", c.StoreErrors, "Records that could not be written at once."},
		{"journal_errors_total", "", c.JournalErrors, "Steps that could not be written down at once."},
		{"messages_total", `{fate="confirmed"}`, c.Notified, "Messages, by what became of them."},
		{"messages_total", `{fate="maybe_sent"}`, c.MaybeSent, ""},
		{"messages_total", `{fate="lost"}`, c.NotifyLost, ""},
		{"messages_unsent", "", c.Unsent, "Messages that wait."},
		{"blocked_total", "", c.Blocked, "Calls of the store or the notifier that were over their time."},
		{"healthy", "", healthy, "1: /healthz says ok."},
	} {
		name := "shakedown_incident_" + m.name
		if name != last {
			kind := "gauge"
			if strings.HasSuffix(name, "_total") {
				kind = "counter"
			}
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, m.help, name, kind)
		}
		last = name
		fmt.Fprintf(&b, "%s%s %d\n", name, m.label, m.value)
	}
	return b.String()
}

// Counts count the events that a runner was offered, or took over from an
// earlier runner, by what became of them. They start at zero with each runner.
// When no event is being handled:
//
//	Received + Restored = Malformed + Filtered + Duplicate + Dropped + Refused +
//		Queued + Running + Interrupted + Resolved + Failed + AgentFailed
type Counts struct {
	Received      uint64 `json:"received"`
	Restored      uint64 `json:"restored"`    // left by an earlier runner: its queue and what it did not end
	Malformed     uint64 `json:"malformed"`   // of neither shape, or with impossible members
	Filtered      uint64 `json:"filtered"`    // below the least severity
	Duplicate     uint64 `json:"duplicate"`   // like one before, within the window or while its agent runs
	Dropped       uint64 `json:"dropped"`     // the oldest of a full queue
	Refused       uint64 `json:"refused"`     // offered after the shutdown began
	Queued        uint64 `json:"queued"`      // now
	Running       uint64 `json:"running"`     // now
	Interrupted   uint64 `json:"interrupted"` // now; this runner or the next resumes them
	Resolved      uint64 `json:"resolved"`
	Failed        uint64 `json:"failed"`
	AgentFailed   uint64 `json:"agentFailed"`
	StoreErrors   uint64 `json:"storeErrors"`   // attempts to write a record that failed; it is tried again
	JournalErrors uint64 `json:"journalErrors"` // steps that were not written down at once
	Notified      uint64 `json:"notified"`      // messages that the receiver confirmed
	Unsent        uint64 `json:"unsent"`        // messages that wait, now
	MaybeSent     uint64 `json:"maybeSent"`     // messages without a confirmation that are not sent again
	NotifyLost    uint64 `json:"notifyLost"`    // messages that were given up
	Blocked       uint64 `json:"blocked"`       // calls of the store or the notifier that were over their time
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
