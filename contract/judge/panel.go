package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// Panel returns a judge that asks others, one after the other, and rules what more than
// half of all of them rule. If no more than half agree, it is unsure. A member that fails
// has no vote but counts. If there is no majority and a member failed, the panel fails: its
// votes might have been another.
//
// Its name and version join those of the members, its cost and counts are their sums, and
// Dissent is the number of members that ruled otherwise, with those of a panel among the
// members. A panel errs less often than its members only as far as they err on different
// answers, so a judge that stands in it twice does no good: calibrate the panel.
//
// Errors: [*FieldError] for fewer than two members, and for each that is nil.
func Panel(members ...invariant.Judge) (invariant.Judge, error) {
	p := fields.List()
	p.Demand(len(members) >= 2, "members", fielderror.Found(text.Plural(len(members), "judge")), "two judges or more")
	for i, m := range members {
		p.Demand(m != nil, fmt.Sprintf("members[%d]", i), fielderror.Found("nil"), "a judge")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	members = append([]invariant.Judge(nil), members...)
	return func(ctx context.Context, q invariant.Question) (invariant.Judgement, error) {
		return convene(ctx, members, q)
	}, nil
}

// ruled asks a judge. A panic of it is a failure, which callers count.
func ruled(ctx context.Context, judge invariant.Judge, q invariant.Question) (j invariant.Judgement, err error) {
	defer usercode.Recover(&err, "the judge")
	return judge(ctx, q)
}

func convene(ctx context.Context, members []invariant.Judge, q invariant.Question) (invariant.Judgement, error) {
	var all invariant.Judgement
	var names, versions, reasons []string
	var failed []error
	votes := map[invariant.Ruling]int{}
	all.Cached = true
	for _, member := range members {
		j, err := ruled(ctx, member, q)
		names, versions = append(names, j.Judge), append(versions, j.Version)
		all.Cost += j.Cost
		all.Calls += j.Calls
		all.Malformed += j.Malformed
		all.Dissent += j.Dissent
		all.Cached = all.Cached && j.Cached
		if err != nil {
			failed = append(failed, err)
			reasons = append(reasons, fmt.Sprintf("%s failed: %v", j.Judge, err))
			continue
		}
		votes[j.Ruling]++
		reasons = append(reasons, fmt.Sprintf("%s: %v, %s", j.Judge, j.Ruling, j.Reason))
	}
	all.Judge, all.Version = strings.Join(names, "+"), strings.Join(versions, "+")
	for _, ruling := range []invariant.Ruling{invariant.Held, invariant.Broken} {
		if 2*votes[ruling] > len(members) {
			all.Ruling = ruling
		}
	}
	all.Dissent += len(members) - len(failed) - votes[all.Ruling]
	if all.Ruling == invariant.Unsure && len(failed) > 0 {
		return all, fmt.Errorf("judge: there is no majority, and of %s failed %d: %w",
			text.Plural(len(members), "member"), len(failed), errors.Join(failed...))
	}
	all.Reason = text.Clip(strings.Join(reasons, "; "), 2*maxReason)
	return all, nil
}
