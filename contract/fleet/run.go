package fleet

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Run hands out the units of the matrix, collects their results in the run file, and returns the
// report that [contract.Matrix.Run] makes of it. It runs no unit itself, and makes the first worlds
// as Matrix.Run does. A Run that was killed goes on where it was when it is called again with the
// same ID; with [contract.RunOptions].Resume it needs nothing of the server.
//
// When ctx ends, Run returns its error; the file then is a part. Other errors: a
// [*contract.FieldError] for the options, for a file that is not of this matrix and program, and
// for an ID that another matrix or program has; those of Matrix.Run; and those of the connection
// that waiting does not mend. The streams stay until [Delete].
func Run(ctx context.Context, nc *nats.Conn, m *contract.Matrix, o *Options) (*contract.Report, error) {
	own, err := o.check(nc, m, true)
	if err != nil {
		return nil, err
	}
	units, err := m.Units(ctx, own.Run)
	if err != nil {
		return nil, err
	}
	defer units.Close()
	q, err := newQueue(nc, &own)
	if err != nil {
		return nil, err
	}
	r := &coordinator{queue: q, o: &own, run: units, missing: map[string]bool{}, died: map[string]bool{}}
	for _, unit := range units.Missing() {
		r.missing[unit] = true
	}
	if err := r.collect(ctx); err != nil {
		return nil, err
	}
	report, err := units.Report(ctx, "its worker died three times")
	if err == nil && len(r.conflicts) > 0 {
		differ := fmt.Sprintf("%s had two results that differ: %s", text.Plural(len(r.conflicts), "unit"), text.Some(r.conflicts, 10))
		if report.Warnings = append(report.Warnings, differ+". The first counts."); own.Repeatable {
			err = fields.Wrong("unit", fielderror.Found(differ), "equal results of a unit, as Options.Repeatable says")
		}
	}
	return report, err
}

// Delete removes what the server has of a run. Its workers then end.
func Delete(ctx context.Context, nc *nats.Conn, id string) error {
	if !wholeID.MatchString(id) {
		return fields.Wrong("id", id, "1 to 64 letters, digits, - and _")
	}
	q, err := newQueue(nc, &Options{ID: id})
	if err != nil {
		return err
	}
	type remover func(ctx context.Context, name string) error
	for _, remove := range []remover{q.js.DeleteKeyValue, q.js.DeleteStream, q.js.DeleteObjectStore} {
		err := remove(ctx, q.name)
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrBucketNotFound) {
			return fmt.Errorf("fleet: delete %s: %w", id, err)
		}
	}
	return nil
}

// A coordinator hands out units and collects their results.
type coordinator struct {
	*queue
	o         *Options
	run       *contract.Units
	missing   map[string]bool // units that the file lacks
	died      map[string]bool // those of them that were given up
	conflicts []string
}

// collect returns when each unit has a result in the file, or was given up. Those that an earlier run
// gave up are tried again.
func (r *coordinator) collect(ctx context.Context) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	_, err := again(ctx, r.queue, func(ctx context.Context) (any, error) {
		stream, err := r.js.Stream(ctx, "KV_"+r.name)
		for _, keys := range []string{triesKey + ">", endKey} {
			if err == nil {
				err = stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+r.name+"."+keys))
			}
		}
		return nil, err
	})
	for err == nil && !r.complete() {
		if err = r.follow(ctx); err == nil || errors.Is(err, errGone) {
			err = r.ready(ctx)
		}
	}
	if err != nil {
		return err
	}
	return r.put(ctx, endKey)
}

func (r *coordinator) complete() bool { return len(r.missing) == len(r.died) }

// ready is what a start and a run that heals have in common: what the server lacks is made.
func (r *coordinator) ready(ctx context.Context) error {
	head, err := r.run.Head(r.id)
	if err != nil {
		return err
	}
	_, err = again(ctx, r.queue, func(ctx context.Context) (uint64, error) {
		if err := r.create(ctx, r.o.Replicas); err != nil {
			return 0, err
		}
		return r.bucket.Create(ctx, headKey, head)
	})
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	there, err := r.get(ctx, headKey)
	if there == nil || err != nil {
		return err
	}
	return r.run.Check(there.Value())
}

// follow reads all that the bucket has, hands out what nobody has, and takes results as they come. It
// returns when all are there, and when something was lost or the server was away: then the bucket is
// to be read anew.
func (r *coordinator) follow(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx) // of the whole watch, so oneCall bounds its beginning only
	defer stop()
	begun := time.AfterFunc(oneCall, stop)
	watch, err := r.bucket.WatchAll(watching)
	begun.Stop()
	if err != nil {
		r.waits(err)
		return ctx.Err()
	}
	defer watch.Stop() //nolint:errcheck // of a watch that is not used any more
	idle := time.NewTimer(r.ackWait)
	defer idle.Stop()
	for read := false; !r.complete(); idle.Reset(r.ackWait) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, open := <-watch.Updates():
			switch {
			case !open:
				return nil
			case e != nil:
				if err := r.take(ctx, e); err != nil {
					return err
				}
				continue
			}
			read = true // what was there
			if _, err := r.handOut(ctx); err != nil {
				return ctx.Err()
			}
		case <-idle.C:
			if !read {
				return nil
			}
			if lost, err := r.handOut(ctx); lost > 0 || err != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// handOut queues the units that neither the file nor the bucket has, and returns their number. The queue
// refuses those that it has already. One that could not be queued is so when nothing has come for a while.
func (r *coordinator) handOut(ctx context.Context) (queued int, err error) {
	within, cancel := context.WithTimeout(ctx, oneCall)
	defer cancel()
	info, err := r.units.Info(within, jetstream.WithSubjectFilter(r.subject("")+">"))
	if err != nil {
		r.waits(err)
		return 0, err
	}
	for _, unit := range r.run.Names() {
		if _, has := info.State.Subjects[r.subject(unit)]; has || !r.missing[unit] || r.died[unit] {
			continue
		}
		if _, err := r.js.PublishAsync(r.subject(unit), nil, jetstream.WithStallWait(r.ackWait)); err != nil {
			r.waits(err)
			break
		}
		queued++
	}
	select {
	case <-ctx.Done():
		return queued, ctx.Err()
	case <-r.js.PublishAsyncComplete():
	case <-time.After(r.ackWait):
	}
	return queued, nil
}

// take takes what the bucket says of a unit.
func (r *coordinator) take(ctx context.Context, e jetstream.KeyValueEntry) error {
	kind, hexed, _ := strings.Cut(e.Key(), ".")
	decoded, err := hex.DecodeString(hexed)
	unit := string(decoded)
	if err != nil || e.Operation() != jetstream.KeyValuePut {
		return nil // it is none of ours, or an earlier run's
	}
	switch kind += "."; {
	case kind == conflictKey && !slices.Contains(r.conflicts, unit):
		r.conflicts = append(r.conflicts, unit)
		return nil
	case kind == triesKey && r.missing[unit] && r.died[unit] != (len(strings.Fields(string(e.Value()))) > mostDeaths):
		if r.died[unit] = !r.died[unit]; !r.died[unit] { // a try that was believed dead goes on
			delete(r.died, unit)
		}
	case kind == resultKey && r.missing[unit]:
		line, err := r.line(ctx, e.Value())
		if err == nil {
			err = r.run.Add(unit, line)
		}
		if err != nil {
			return fmt.Errorf("fleet: result of unit %s: %w", unit, err)
		}
		delete(r.missing, unit)
		delete(r.died, unit)
	default:
		return nil
	}
	if r.o.OnProgress != nil {
		all := len(r.run.Names())
		r.o.OnProgress(Progress{all, all - len(r.missing), len(r.died)})
	}
	return nil
}
