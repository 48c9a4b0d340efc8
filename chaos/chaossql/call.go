package chaossql

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// A Statement is the arguments of a call, as triggers and faults see them: of exec, query and rows the text and its
// values, else empty. It must not be changed. Its JSON is {"query": "…", "args": […]}; a value with a name is
// {"name": "…", "value": …} there.
type Statement struct {
	Query string
	Args  []driver.NamedValue

	op       operation
	conn     *conn
	prepared *stmt // nil: it is not
}

// MarshalJSON writes text and values.
func (s *Statement) MarshalJSON() ([]byte, error) {
	args := make([]any, len(s.Args))
	for i, a := range s.Args {
		if args[i] = a.Value; a.Name != "" {
			args[i] = map[string]any{"name": a.Name, "value": a.Value}
		}
	}
	return json.Marshal(map[string]any{"query": s.Query, "args": args})
}

// UnmarshalJSON reads what MarshalJSON writes, for faults that change arguments. Numbers without a fraction are int64.
func (s *Statement) UnmarshalJSON(doc []byte) error {
	in, err := jsonvalue.Decode[struct {
		Query string `json:"query"`
		Args  []any  `json:"args"`
	}](doc)
	if err != nil {
		return err
	}
	s.Query, s.Args = in.Query, make([]driver.NamedValue, len(in.Args))
	for i, v := range in.Args {
		if named, ok := v.(map[string]any); ok {
			s.Args[i].Name, _ = named["name"].(string)
			v = named["value"]
		}
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			v = int64(f)
		}
		s.Args[i].Ordinal, s.Args[i].Value = i+1, v
	}
	return nil
}

// key is equal for equal texts and values.
func (s *Statement) key() uint64 {
	if s.Query == "" {
		return 0
	}
	h := hash.String(s.Query)
	for _, a := range s.Args {
		h = hash.Combine(hash.Combine(h, hash.String(a.Name)), hashOf(a.Value))
	}
	return h
}

// hashOf is the hash of a value as drivers get it. What else a driver takes is known by the value that it has for
// drivers, or else by its type and text.
func hashOf(v driver.Value) uint64 {
	switch v := v.(type) {
	case int64:
		return hash.Combine(1, uint64(v))
	case float64:
		return hash.Combine(2, math.Float64bits(v))
	case []byte:
		return hash.Combine(3, hash.Bytes(v))
	case string:
		return hash.Combine(4, hash.String(v))
	case time.Time:
		return hash.Combine(5, uint64(v.UnixNano()))
	case nil:
		return 7
	case bool:
		return hash.Combine(9, hash.String(strconv.FormatBool(v)))
	}
	if valuer, ok := v.(driver.Valuer); ok {
		if value, err := driver.DefaultParameterConverter.ConvertValue(valuer); err == nil {
			return hash.Combine(6, hashOf(value))
		}
	}
	return hash.Combine(8, hash.String(fmt.Sprintf("%T %+v", v, reflect.Indirect(reflect.ValueOf(v)))))
}

// A Result is what an exec did, as faults see it and change it: fault.Replace(chaossql.Result{}) says that no row was
// affected. Its JSON is {"lastInsertId": 7, "rowsAffected": 1}.
type Result struct {
	Inserted int64 `json:"lastInsertId"`
	Affected int64 `json:"rowsAffected"`

	noInserted, noAffected error // the driver does not say
}

func resultOf(r driver.Result) (own Result) {
	own.Inserted, own.noInserted = r.LastInsertId()
	own.Affected, own.noAffected = r.RowsAffected()
	return own
}

// LastInsertId is that of the driver, with its error.
func (r Result) LastInsertId() (int64, error) { return r.Inserted, r.noInserted }

// RowsAffected is that of the driver, with its error.
func (r Result) RowsAffected() (int64, error) { return r.Affected, r.noAffected }

// arrival is a call that has begun. Nothing happens to the zero one.
type arrival struct {
	chaos.Crossing
	call  Statement
	key   uint64
	keyed bool // key is known
}

// point is where a call is made.
type point struct {
	injector *chaos.Injector // nil: nothing can happen to the call
	target   string
	alias    string // the target without the name of the statement; empty: it has none
}

// point finds that of a call. Nothing more is looked up for one to which nothing can happen.
func (c *conn) point(ctx context.Context, op operation, query string) (p point) {
	in := c.connector.opts.Injector
	if in == nil {
		in = chaos.FromContext(ctx)
	}
	if in == nil {
		return p
	}
	p.target = c.connector.targets[op]
	if nameOf := c.connector.opts.Statement; nameOf != nil && query != "" {
		if name := nameOf(query); name != "" {
			p.target, p.alias = c.target(named{op, name}), p.target
		}
	}
	if in.MayAffect(p.target) || p.alias != "" && in.MayAffect(p.alias) {
		p.injector = in
	}
	return p
}

// arrive begins a call at a point.
func (c *conn) arrive(ctx context.Context, p point, call Statement) (x arrival) {
	if p.injector == nil {
		return x
	}
	x.call = call
	layer := chaos.LayerSQL
	if call.op == reading {
		layer = chaos.LayerStream
	}
	x.Crossing = p.injector.Arrive(ctx, p.target, p.alias, layer, true)
	if x.Waiting() {
		x.Declare(c.does(call.op))
		c.now = call
		x.key, x.keyed = c.now.key(), true
		x.Match(x.key, &c.now)
	}
	return x
}

// does is what a call that succeeds does to the database, as far as its kind says it. What is done in a transaction
// counts when that is committed, and a query may write, too.
func (c *conn) does(op operation) chaos.Effect {
	switch {
	case op == committing, op == executing && !c.inTx:
		return chaos.EffectDone
	case op == executing, op == reading, op == querying && !(c.inTx && c.tx.readOnly):
		return chaos.EffectUnknown
	}
	return chaos.EffectNone
}

// named is what is done with a statement that has a name.
type named struct {
	op   operation
	name string
}

const maxTargets = 1000 // that a connection keeps; others are made for each call

// target returns the name of a point.
func (c *conn) target(n named) string {
	target, ok := c.targets[n]
	if !ok {
		target = c.connector.targets[n.op] + "#" + n.name
		if len(c.targets) < maxTargets {
			c.targets[n] = target
		}
	}
	return target
}

// ended says how a call that passed through ended, and returns its error.
func (x *arrival) ended(err error) error {
	if x.keyed {
		x.Passed(x.key, err)
	}
	return err
}

var errGone = errors.New("chaossql: this call came late, and its connection has been given back")

// ownCall is the key of a context's value that says of which call it is.
type ownCall struct{}

// cross takes a call through the rules that act on it. do asks the driver. drop gives back to the driver what the
// caller does not get; the caller then gets nothing but what the driver made for this call. nil: a result is only data.
func cross[T comparable](ctx context.Context, x arrival, do func(context.Context, Statement) (T, error),
	drop func(T)) (out T, err error) {
	var none T
	var made []T
	defer func() {
		for _, t := range made {
			if drop != nil && t != out {
				drop(t)
			}
		}
	}()
	s, own := &x.call, &x
	out, err = chaos.WrapWith("", func(ctx context.Context, call *Statement) (T, error) {
		if ctx.Value(ownCall{}) != any(own) { // a later call executes this one, whose connection is another's now
			return none, errGone
		}
		given := *call
		given.op, given.conn, given.prepared = s.op, s.conn, s.prepared // a fault may have made it of JSON
		if given.Query != s.Query && given.conn.direct != nil {
			given.prepared = nil
		}
		t, err := do(ctx, given)
		if err == nil {
			made = append(made, t)
		}
		return t, err
	}, &chaos.WrapOptions[*Statement]{Crossing: &x.Crossing})(context.WithValue(ctx, ownCall{}, own), s)
	if err != nil || drop != nil && !slices.Contains(made, out) {
		out = none
	}
	return out, err
}
