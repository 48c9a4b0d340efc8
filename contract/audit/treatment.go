package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// A treatment is a way to call a tool such that its work should be done once.
type treatment struct {
	name, does string
	fault      chaos.Fault // on the first call; nil: none
	fresh      bool        // whether the first call did its work is not known
	restart    bool
	keyless    bool    // the calls have no idempotency key
	informs    bool    // it shows what the key is good for: the work may be done twice
	part       float64 // of the time of one call, after which the first call is cancelled
	run        func(ctx context.Context, t *trial)
}

// treatments are all that there are, with so many cancellations.
func treatments(cancellations int) []treatment {
	all := []treatment{
		{name: "once", does: "it is called once", fresh: true, run: func(ctx context.Context, t *trial) { t.again(ctx, t.args) }},
		{name: "reply-lost", does: "the first reply is lost, and it is called again", fault: fault.LoseReply(), fresh: true, run: twice},
		{name: "twice", does: "it is called twice in a row", run: twice},
		{name: "at-once", does: "it is called twice at once", fresh: true, run: atOnce},
	}
	for i := range cancellations {
		all = append(all, treatment{name: fmt.Sprintf("cancelled-%dof%d", i+1, cancellations), fresh: true, run: cancelled,
			does: "the first call is cancelled in the middle, and it is called again", part: (float64(i) + .5) / float64(cancellations)})
	}
	return append(all,
		treatment{name: "timed-out", does: "the first call times out before it reaches the tool, and it is called again",
			fault: fault.Timeout(leastSettle), fresh: true, run: twice},
		treatment{name: "restarted", does: "it is called, restarted, and called again", restart: true, run: restarted},
		treatment{name: "other-key", does: "it is called with two idempotency keys", informs: true, run: twice},
		treatment{name: "without-key", does: "it is called twice without an idempotency key", informs: true, keyless: true, run: twice})
}

func twice(ctx context.Context, t *trial) {
	t.failed = t.call(ctx, t.args)
	t.look(ctx)
	t.again(ctx, t.second)
}

func atOnce(ctx context.Context, t *trial) {
	second, sent := make(chan error, 1), len(t.evidence.Calls)
	go func() { second <- t.call(ctx, t.args) }()
	first := t.call(ctx, t.args)
	err := <-second
	if a, b := t.evidence.Calls[sent], t.evidence.Calls[sent+1]; max(a.Start, b.Start) >= min(a.End, b.End) {
		t.untried = "one call ended before the other began, so they were not at once"
	}
	if first != nil && err != nil {
		t.again(ctx, t.args)
	}
}

func cancelled(ctx context.Context, t *trial) {
	middle := time.Duration(float64(t.took) * t.treatment.part)
	if middle <= 0 {
		t.conclude(NotTried, "a call takes no time that could be measured, so it cannot be cancelled in the middle")
		return
	}
	short, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(t.o.Every+middle, cancel)
	if t.failed = t.call(short, t.args); t.failed == nil {
		t.untried = "the call ended before it was cancelled"
	}
	timer.Stop()
	cancel()
	t.again(ctx, t.args)
}

func restarted(ctx context.Context, t *trial) {
	t.failed = t.call(ctx, t.args)
	t.look(ctx)
	if err := t.world.Restart(chaos.NewContext(ctx, nil)); err != nil {
		t.conclude(Unknown, "it could not be restarted: "+err.Error())
		return
	}
	t.again(ctx, t.args)
}
