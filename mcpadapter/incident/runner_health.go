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
	var b strings.Builder
	type sample struct {
		label string // with its name; "": none
		value uint64
	}
	family := func(name, kind, help string, samples ...sample) {
		name = "shakedown_incident_" + name
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for _, s := range samples {
			fmt.Fprintf(&b, "%s%s %d\n", name, s.label, s.value)
		}
	}
	family("events_received_total", "counter", "Events that were offered.", sample{"", c.Received})
	family("events_restored_total", "counter", "Events and incidents that an earlier runner left.",
		sample{"", c.Restored})
	family("events_total", "counter", "Events that became no incident, by their fate.",
		sample{`{fate="malformed"}`, c.Malformed}, sample{`{fate="filtered"}`, c.Filtered},
		sample{`{fate="duplicate"}`, c.Duplicate},
		sample{`{fate="dropped"}`, c.Dropped}, sample{`{fate="refused"}`, c.Refused})
	family("queued", "gauge", "Events that wait for an agent.", sample{"", c.Queued})
	family("running", "gauge", "Incidents under investigation.", sample{"", c.Running})
	family("interrupted", "gauge", "Incidents that will be resumed.", sample{"", c.Interrupted})
	family("ended_total", "counter", "Incidents that ended, by their status.",
		sample{`{status="resolved"}`, c.Resolved}, sample{`{status="failed"}`, c.Failed},
		sample{`{status="agent_failed"}`, c.AgentFailed})
	family("store_errors_total", "counter", "Records that could not be written at once.", sample{"", c.StoreErrors})
	family("journal_errors_total", "counter", "Steps that could not be written down at once.",
		sample{"", c.JournalErrors})
	family("messages_total", "counter", "Messages, by what became of them.",
		sample{`{fate="confirmed"}`, c.Notified}, sample{`{fate="maybe_sent"}`, c.MaybeSent},
		sample{`{fate="lost"}`, c.NotifyLost})
	family("messages_unsent", "gauge", "Messages that wait.", sample{"", c.Unsent})
	family("blocked_total", "counter", "Calls of the store or the notifier that were over their time.",
		sample{"", c.Blocked})
	family("workspaces_removed_total", "counter", "Workspaces removed for their age or size.", sample{"", c.Removed})
	healthy := uint64(0)
	if len(r.problems()) == 0 {
		healthy = 1
	}
	family("healthy", "gauge", "1: /healthz says ok.", sample{"", healthy})
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
	Removed       uint64 `json:"removed"`       // workspaces, for their age or the size of all
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
