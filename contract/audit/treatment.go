package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

type keyUse uint8

const (
	sameKey keyUse = iota
	otherOne
	noKey
)

// A treatment is a way to call a tool such that its work should be done once.
type treatment struct {
	name, does string
	fault      chaos.Fault // on the first call; nil: none
	key        keyUse
	restart    bool
	fresh      bool // the state after the first call is not that of one call
	part       float64
	run        func(ctx context.Context, t *trial)
}

// informs reports whether the treatment shows what the key is good for: the work may then be done twice.
func (t *treatment) informs() bool { return t.key != sameKey }

func treatments() []treatment {
	twice := func(ctx context.Context, t *trial) {
		t.call(ctx, t.args)
		t.look(ctx)
		t.again(ctx, t.args)
	}
	all := []treatment{
		{name: "once", does: "it is called once", fresh: true, run: func(ctx context.Context, t *trial) { t.again(ctx, t.args) }},
		{name: "reply-lost", does: "the reply of the first call is lost, and it is called again", fault: fault.LoseReply(), run: twice},
		{name: "twice", does: "it is called twice in a row", run: twice},
		{name: "at-once", does: "it is called twice at once", fresh: true, run: atOnce},
	}
	for _, percent := range []int{12, 37, 62, 87} {
		all = append(all, treatment{name: fmt.Sprintf("cancelled-%d", percent), fresh: true, part: float64(percent) / 100, run: cancelled,
			does: fmt.Sprintf("the first call is cancelled after %d %% of the time that one call takes, and it is called again", percent)})
	}
	return append(all,
		treatment{name: "timed-out", does: "the first call times out before it reaches the tool, and it is called again",
			fault: fault.Timeout(leastSettle), fresh: true, run: twice},
		treatment{name: "restarted", does: "it is called, the program is restarted, and it is called again", restart: true, run: restarted},
		treatment{name: "other-key", does: "it is called twice with two idempotency keys", key: otherOne,
			run: func(ctx context.Context, t *trial) {
				t.call(ctx, t.args)
				t.look(ctx)
				t.again(ctx, withKey(t.args, t.plan.Key, t.otherKey))
			}},
		treatment{name: "without-key", does: "it is called twice without an idempotency key", key: noKey, run: twice})
}

func atOnce(ctx context.Context, t *trial) {
	second := make(chan error, 1)
	go func() { second <- t.callOnly(ctx, t.args) }()
	first := t.call(ctx, t.args)
	if err := <-second; first != nil && err != nil {
		t.again(ctx, t.args)
		return
	}
	t.failed = nil // one of them has its answer
}

func cancelled(ctx context.Context, t *trial) {
	middle := time.Duration(float64(t.took) * t.treatment.part)
	if middle <= 0 {
		t.conclude(NotTried, "a call takes no time that could be measured, so it cannot be cancelled in the middle")
		return
	}
	short, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(t.o.Every+middle, cancel)
	t.call(short, t.args)
	timer.Stop()
	cancel()
	t.again(ctx, t.args)
}

func restarted(ctx context.Context, t *trial) {
	t.call(ctx, t.args)
	t.look(ctx)
	if err := t.world.Restart(chaos.NewContext(ctx, nil)); err != nil {
		t.conclude(Unknown, "the program could not be restarted: "+err.Error())
		return
	}
	t.again(ctx, t.args)
}
