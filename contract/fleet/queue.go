package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A queue hands out units and takes their results. Three calls do the work of a worker: claim, beat
// and finish. An outage of the server makes them wait.
//
// Units are messages of a stream, which is a lease: who does not beat loses his. The bucket has what
// is known of them, by keys that end with the unit's name in hexadecimal.
type queue struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	name     string // of the streams
	id       string
	ackWait  time.Duration
	onWait   func(error)
	units    jetstream.Stream
	consumer jetstream.Consumer
	bucket   jetstream.KeyValue
	large    jetstream.ObjectStore // results that no message holds
}

// The keys of the bucket. Those with a dot have a unit's name after it.
const (
	headKey     = "head"      // the head of the run file
	endKey      = "end"       // the run has all units
	resultKey   = "unit."     // the unit's line, or the name of an object after objectMark
	triesKey    = "tries."    // the tries that have not ended well, by their own names; after mostDeaths it is given up
	conflictKey = "conflict." // there were two results that differ
	objectMark  = "@"
)

// mostDeaths is the number of tries that may die before a unit is given up.
const mostDeaths = 3

// largest is the size of a result that is an object of its own, unless the server has a lower limit.
const largest = 1 << 20

// oneCall bounds one call of the server, because the answer to it may have been lost.
const oneCall = 10 * time.Second

var errGone = errors.New("fleet: the run was deleted")

func newQueue(nc *nats.Conn, o *Options) (*queue, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return &queue{nc: nc, js: js, name: "shakedown-" + o.ID, id: o.ID, ackWait: o.AckWait, onWait: o.OnWait}, nil
}

func (q *queue) subject(unit string) string { return "shakedown." + q.id + "." + hexOf(unit) }

func hexOf(unit string) string { return hex.EncodeToString([]byte(unit)) }

// create makes what is missing of the run's streams. Messages have no ids: within the time for which
// the server knows ids it would swallow a unit that was done and has to be done again.
func (q *queue) create(ctx context.Context, replicas int) (err error) {
	if q.units, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: q.name, Subjects: []string{q.subject("") + ">"}, Storage: jetstream.FileStorage, Replicas: replicas,
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
		DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
	}); err != nil {
		return err
	}
	if _, err = q.units.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.ackWait, MaxDeliver: -1, MaxAckPending: -1,
	}); err != nil {
		return err
	}
	if q.large, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: q.name, Storage: jetstream.FileStorage, Replicas: replicas}); err != nil {
		return err
	}
	q.bucket, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: q.name, Storage: jetstream.FileStorage, Replicas: replicas})
	return err
}

// open finds what create made, and the head of the run. Its time for a beat is that of the consumer.
func (q *queue) open(ctx context.Context) (head []byte, err error) {
	if q.consumer, err = q.js.Consumer(ctx, q.name, "workers"); err == nil {
		q.ackWait = q.consumer.CachedInfo().Config.AckWait
		q.large, err = q.js.ObjectStore(ctx, q.name)
	}
	var bucket jetstream.KeyValue
	if err == nil {
		bucket, err = q.js.KeyValue(ctx, q.name)
	}
	var e jetstream.KeyValueEntry
	if err == nil {
		e, err = bucket.Get(ctx, headKey)
	}
	if err != nil { // a run that never was is waited for, whatever the reason
		return nil, fmt.Errorf("fleet: run %s has not begun: %v", q.id, err)
	}
	q.bucket = bucket
	return e.Value(), nil
}

// final are errors that the same call would return again.
var final = []error{jetstream.ErrKeyExists, jetstream.ErrKeyNotFound, jetstream.ErrKeyRevisionMismatch,
	jetstream.ErrObjectNotFound, jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount,
	nats.ErrConnectionClosed, nats.ErrMaxPayload, nats.ErrAuthorization}

// again makes a call until it ends well or for good, and says why it waits. A bucket that stays
// missing is that of a run that was deleted; until then the coordinator may make it again.
func again[T any](ctx context.Context, q *queue, call func(context.Context) (T, error)) (T, error) {
	var missing time.Time
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		within, cancel := context.WithTimeout(ctx, oneCall)
		value, err := call(within)
		cancel()
		isFinal := func(end error) bool { return errors.Is(err, end) }
		if err == nil || ctx.Err() != nil || slices.ContainsFunc(final, isFinal) {
			return value, err
		}
		q.waits(err)
		within, cancel = context.WithTimeout(ctx, oneCall)
		_, none := q.js.KeyValue(within, q.name)
		cancel()
		if !errors.Is(none, jetstream.ErrBucketNotFound) {
			missing = time.Time{}
		} else if missing.IsZero() {
			missing = time.Now()
		} else if q.bucket != nil && time.Since(missing) > 3*q.ackWait {
			return value, errGone
		}
		select {
		case <-ctx.Done():
			return value, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (q *queue) waits(why error) {
	if q.onWait != nil {
		q.onWait(why)
	}
}

// get is the value of a key; nil: there is none.
func (q *queue) get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	e, err := again(ctx, q, func(ctx context.Context) (jetstream.KeyValueEntry, error) {
		return q.bucket.Get(ctx, key)
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	return e, err
}

func (q *queue) put(ctx context.Context, key string) error {
	_, err := again(ctx, q, func(ctx context.Context) (uint64, error) { return q.bucket.Put(ctx, key, nil) })
	return err
}

// A claim is a unit that a worker has until it does not beat.
type claim struct {
	msg  jetstream.Msg
	unit string
	try  string
}

// claim waits for a unit; nil: there was none for a while, or one that need not run. A unit whose
// tries died is given up.
func (q *queue) claim(ctx context.Context) (*claim, error) {
	msg, err := again(ctx, q, func(ctx context.Context) (jetstream.Msg, error) {
		while, cancel := context.WithTimeout(ctx, min(q.ackWait, 2*time.Second))
		defer cancel()
		msg, err := q.consumer.Next(jetstream.FetchContext(while))
		if errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoMessages) || while.Err() != nil {
			return msg, ctx.Err()
		}
		return msg, err
	})
	if msg == nil {
		return nil, err
	}
	hexed := strings.TrimPrefix(msg.Subject(), q.subject(""))
	unit, _ := hex.DecodeString(hexed) // only a coordinator writes here
	c := &claim{msg, string(unit), rand.Text()}
	var tries []string
	done, err := q.get(ctx, resultKey+hexed)
	if err == nil && done == nil {
		tries, err = q.tries(ctx, c, func(all []string) []string {
			if len(all) <= mostDeaths && !slices.Contains(all, c.try) {
				all = append(all, c.try)
			}
			return all
		})
	}
	switch {
	case err != nil:
		return nil, errors.Join(err, msg.Nak())
	case done != nil || len(tries) > mostDeaths:
		return nil, q.ack(ctx, c)
	}
	return c, nil
}

// tries changes the list of a unit's tries. A change that is repeated because its answer was lost
// must change nothing more.
func (q *queue) tries(ctx context.Context, c *claim, change func([]string) []string) ([]string, error) {
	key := triesKey + hexOf(c.unit)
	for {
		old, err := q.get(ctx, key)
		if err != nil {
			return nil, err
		}
		var all []string
		revision := uint64(0)
		if old != nil {
			all, revision = strings.Fields(string(old.Value())), old.Revision()
		}
		was := len(all)
		if all = change(all); len(all) == was {
			return all, nil
		}
		_, err = again(ctx, q, func(ctx context.Context) (uint64, error) {
			if text := []byte(strings.Join(all, " ")); revision > 0 {
				return q.bucket.Update(ctx, key, text, revision)
			} else {
				return q.bucket.Create(ctx, key, text)
			}
		})
		if !errors.Is(err, jetstream.ErrKeyExists) && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return all, err
		}
	}
}

// beat keeps the unit for another while. Somebody else may have it all the same, after an outage or
// a pause of this process. Then this try did not die, whatever the queue thinks.
func (q *queue) beat(ctx context.Context, c *claim) error {
	err := c.msg.InProgress()
	_, lost := q.tries(ctx, c, func(all []string) []string {
		if at := slices.Index(all, c.try); at >= 0 && at < len(all)-1 {
			all = slices.Delete(all, at, at+1)
		}
		return all
	})
	return errors.Join(err, lost)
}

// giveBack gives the unit to another. The try did not die.
func (q *queue) giveBack(ctx context.Context, c *claim) error {
	_, err := q.tries(ctx, c, func(all []string) []string {
		return slices.DeleteFunc(all, func(try string) bool { return try == c.try })
	})
	return errors.Join(err, c.msg.Nak())
}

// finish gives the queue the line of a unit. same reports whether another line says the same.
func (q *queue) finish(ctx context.Context, c *claim, line []byte, same func(other []byte) bool) error {
	key, value := resultKey+hexOf(c.unit), line
	if int64(len(line)) > min(largest, q.nc.MaxPayload()-4096) { // a message has headers too
		name := hexOf(c.unit) + "-" + c.try
		_, err := again(ctx, q, func(ctx context.Context) (*jetstream.ObjectInfo, error) {
			return q.large.PutBytes(ctx, name, line)
		})
		if err != nil {
			return err
		}
		value = []byte(objectMark + name)
	}
	_, err := again(ctx, q, func(ctx context.Context) (uint64, error) { return q.bucket.Create(ctx, key, value) })
	if errors.Is(err, jetstream.ErrKeyExists) {
		var there jetstream.KeyValueEntry
		if there, err = q.get(ctx, key); err == nil && there != nil {
			value, err = q.line(ctx, there.Value())
		}
		if err == nil && !same(value) {
			err = q.put(ctx, conflictKey+hexOf(c.unit))
		}
	}
	if err != nil {
		return err
	}
	return q.ack(ctx, c)
}

// ack ends a unit. If it gets lost, whoever claims the unit next finds its result.
func (q *queue) ack(ctx context.Context, c *claim) error {
	within, cancel := context.WithTimeout(ctx, q.ackWait)
	defer cancel()
	_ = c.msg.DoubleAck(within)
	return ctx.Err()
}

// line is the line of a unit, of the value of its key.
func (q *queue) line(ctx context.Context, value []byte) ([]byte, error) {
	name, large := strings.CutPrefix(string(value), objectMark)
	if !large {
		return value, nil
	}
	return again(ctx, q, func(ctx context.Context) ([]byte, error) { return q.large.GetBytes(ctx, name) })
}
