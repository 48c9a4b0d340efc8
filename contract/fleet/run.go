package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	file, err := collect(units, own.ID, own.Run)
	if err != nil {
		return nil, err
	}
	r := &coordinator{queue: q, o: &own, units: units, file: file, died: map[string]bool{}}
	if err := errors.Join(r.run(ctx), file.close()); err != nil {
		return nil, err
	}
	options := *own.Run
	options.Resume = options.File
	report, err := m.Run(ctx, &options)
	if err == nil && len(r.conflicts) > 0 {
		differ := fmt.Sprintf("%s had two results that differ: %s", text.Plural(len(r.conflicts), "unit"),
			strings.Join(r.conflicts[:min(10, len(r.conflicts))], ", "))
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
		err := remove(ctx, q.name())
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("fleet: delete %s: %w", id, err)
		}
	}
	return nil
}

// A coordinator hands out units and collects their results.
type coordinator struct {
	*queue
	o         *Options
	units     *contract.Units
	file      *collected
	died      map[string]bool // units that were given up in this run, and have no result
	conflicts []string
}

func (r *coordinator) run(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	for !r.complete() {
		if err := r.follow(ctx); err != nil && !errors.Is(err, errGone) {
			return err
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(r.died)) {
		line, err := r.units.Undecided(unit, workerDied)
		if err == nil {
			err = r.file.add(unit, line)
		}
		if err != nil {
			return err
		}
	}
	return r.put(ctx, endKey, nil)
}

func (r *coordinator) complete() bool { return len(r.file.missing) == len(r.died) }

// ready is what a start and a run that heals have in common: what the server lacks is made.
func (r *coordinator) ready(ctx context.Context) error {
	_, err := again(ctx, r.queue, func(ctx context.Context) (any, error) {
		return nil, r.create(ctx, max(r.o.Replicas, 1))
	})
	if err != nil {
		return err
	}
	head, err := r.units.Head(r.id)
	if err != nil {
		return err
	}
	_, err = again(ctx, r.queue, func(ctx context.Context) (uint64, error) {
		return r.bucket.Create(ctx, headKey, head)
	})
	if errors.Is(err, jetstream.ErrKeyExists) {
		there, err := r.get(ctx, headKey)
		if there == nil || err != nil {
			return err
		}
		return r.units.Check(there.Value())
	}
	return err
}

// begin readies the server, and forgets the deaths of an earlier run: its units are tried again.
func (r *coordinator) begin(ctx context.Context) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	_, err := again(ctx, r.queue, func(ctx context.Context) (any, error) {
		keys, err := r.bucket.ListKeysFiltered(ctx, diedKey+">", endKey)
		if err != nil {
			return nil, err
		}
		for key := range keys.Keys() {
			if unit, died := strings.CutPrefix(key, diedKey); died {
				err = errors.Join(err, r.bucket.Delete(ctx, triesKey+unit))
			}
			err = errors.Join(err, r.bucket.Delete(ctx, key))
		}
		return nil, err
	})
	return err
}

// follow reads all that the bucket has, hands out what nobody has, and takes results as they come. It
// returns when all are there, and when the queue has too few units without a result having come for a
// while: what the server had was lost, and the bucket is to be read anew.
func (r *coordinator) follow(ctx context.Context) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx) // of the whole watch, so oneCall bounds its beginning only
	defer stop()
	begun := time.AfterFunc(oneCall, stop)
	watch, err := r.bucket.WatchAll(watching)
	begun.Stop()
	if err != nil {
		r.waits(err)
		return ctx.Err() // nil: from the beginning
	}
	defer watch.Stop() //nolint:errcheck // of a watch that is not used any more
	idle, synced := time.NewTimer(r.ackWait), time.NewTicker(time.Second)
	defer idle.Stop()
	defer synced.Stop()
	for read := false; !r.complete(); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-synced.C:
			if err := r.file.sync(); err != nil {
				return err
			}
		case e, open := <-watch.Updates():
			switch {
			case !open:
				return nil
			case e == nil: // what was there is read
				read = true
				err = r.handOut(ctx)
			default:
				err = r.take(ctx, e)
			}
			if err != nil {
				return err
			}
			idle.Reset(r.ackWait)
		case <-idle.C:
			idle.Reset(r.ackWait)
			within, cancel := context.WithTimeout(ctx, oneCall)
			info, err := r.queue.units.Info(within)
			cancel()
			switch {
			case !read, errors.Is(err, jetstream.ErrStreamNotFound):
				return nil
			case err != nil:
				r.waits(err)
			case info.State.Msgs < uint64(len(r.file.missing)-len(r.died)):
				return nil
			}
		}
	}
	return nil
}

// handOut queues the units that neither the file nor the bucket has. The queue refuses those that it
// has already. One that could not be queued is so when the run heals.
func (r *coordinator) handOut(ctx context.Context) error {
	info, err := again(ctx, r.queue, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return r.queue.units.Info(ctx, jetstream.WithSubjectFilter(r.subject("")+">"))
	})
	if err != nil {
		return err
	}
	for _, unit := range r.units.Names() {
		if _, queued := info.State.Subjects[r.subject(unit)]; queued || !r.file.missing[unit] || r.died[unit] {
			continue
		}
		if _, err := r.js.PublishAsync(r.subject(unit), nil, jetstream.WithStallWait(r.ackWait)); err != nil {
			r.waits(err)
			break
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.js.PublishAsyncComplete():
	case <-time.After(r.ackWait):
	}
	return nil
}

// take takes what the bucket says of a unit.
func (r *coordinator) take(ctx context.Context, e jetstream.KeyValueEntry) error {
	kind, hexed, _ := strings.Cut(e.Key(), ".")
	unit, err := unitOf(hexed)
	if err != nil || e.Operation() != jetstream.KeyValuePut {
		return nil // it is none of ours, or an earlier run's
	}
	switch kind + "." {
	case resultKey:
		if !r.file.missing[unit] {
			return nil
		}
		line, err := r.lineOf(ctx, e.Value())
		if err == nil {
			err = r.file.add(unit, line)
		}
		if err != nil {
			return err
		}
		delete(r.died, unit) // a try that was believed dead ended well
	case diedKey:
		if r.file.missing[unit] {
			r.died[unit] = true
		}
	case conflictKey:
		if !slices.Contains(r.conflicts, unit) {
			r.conflicts = append(r.conflicts, unit)
		}
		return nil
	default:
		return nil
	}
	if r.o.OnProgress != nil {
		all := len(r.units.Names())
		r.o.OnProgress(Progress{all, all - len(r.file.missing), len(r.died)})
	}
	return nil
}
