package toolkit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/contract/experiment"
)

// builder makes an experiment from a document, and collects the problems.
type builder struct {
	problems
	doc           *Document
	providers     *Providers
	activities    map[string]*Activity // by name, for references
	values        values
	scopedSecrets map[string]string // secrets by scope.name
}

func newBuilder(d *Document, p *Providers) *builder {
	p = cmp.Or(p, &Providers{})
	b := &builder{problems: problems{List: fields.List()}, doc: d, providers: p, activities: make(map[string]*Activity)}
	for _, list := range d.lists() {
		for i := range list.activities {
			if a := &list.activities[i]; a.Ref == "" && b.activities[a.Name] == nil {
				b.activities[a.Name] = a
			}
		}
	}
	return b
}

// placed is a list of activities and its place in the document.
type placed struct {
	path       string
	at         where
	activities []Activity
}

func (d *Document) lists() []placed {
	lists := []placed{{"method", inMethod, d.Method}, {"rollbacks", inRollbacks, d.Rollbacks}}
	if d.Hypothesis != nil {
		lists = append([]placed{{"steady-state-hypothesis.probes", inHypothesis, d.Hypothesis.Probes}}, lists...)
	}
	return lists
}

// Experiment makes the experiment of the document. It loads configuration and
// secrets: it reads the environment, and runs the probes of the configuration
// within ctx. The error joins the problems of [Document.Validate], or else those of
// loading, each a [*FieldError]. p may be nil.
func (d *Document) Experiment(ctx context.Context, p *Providers) (*experiment.Experiment, error) {
	if err := d.Validate(p); err != nil {
		return nil, err
	}
	b := newBuilder(d, p)
	b.resolve(ctx)
	if b.Count() > 0 {
		return nil, b.Err()
	}
	e := b.experiment()
	if b.Count() > 0 {
		return nil, b.Err()
	}
	return e, e.Validate()
}

func (b *builder) experiment() *experiment.Experiment {
	d := b.doc
	b.values.keep = b.providers.ChaosToolkit
	e := &experiment.Experiment{
		Name: b.text("title", d.Title), Description: d.Description, Tags: d.Tags, Contributions: d.Contributions,
		Config: b.values.config, Secrets: b.scopedSecrets, Controls: b.controls(d.Controls),
		Strategies: d.Runtime.strategies(),
	}
	var source bytes.Buffer
	if err := d.Write(&source); err != nil {
		b.cause("", err)
	}
	e.Source = source.Bytes()
	if h := d.Hypothesis; h != nil && len(h.Probes) > 0 {
		e.Hypothesis = &experiment.Hypothesis{Name: b.text("steady-state-hypothesis.title", h.Title),
			Controls: b.controls(h.Controls)}
	}
	for _, list := range d.lists() {
		for i := range list.activities {
			a := b.activity(list.path+"["+strconv.Itoa(i)+"]", list.at, &list.activities[i])
			switch list.at {
			case inHypothesis:
				e.Hypothesis.Probes = append(e.Hypothesis.Probes, a)
			case inMethod:
				e.Method = append(e.Method, a)
			default:
				e.Rollbacks = append(e.Rollbacks, a)
			}
		}
	}
	return e
}

func (b *builder) activity(path string, at where, a *Activity) experiment.Activity {
	if a.Ref != "" {
		a = b.activities[a.Ref]
	}
	out := experiment.Activity{
		Name: a.Name, Kind: a.Type, Background: a.Background && at == inMethod, Dry: a.Dry,
		Controls: b.controls(a.Controls),
		Timeout:  b.seconds(path+".timeout", a.Timeout), Tolerance: b.tolerance(path+".tolerance", a.Tolerance),
	}
	if p := a.Pauses; p != nil {
		out.PauseBefore, out.PauseAfter = b.seconds(path+".pauses.before", p.Before),
			b.seconds(path+".pauses.after", p.After)
	}
	out.Provider, _ = json.Marshal(a.Provider) // as it was decoded or checked before
	call, vs := b.provider(a.Provider, path+".provider"), b.values
	run := func(ctx context.Context) (any, error) { return call(ctx, vs) }
	if at != inMethod || a.Type != experiment.Action || a.Provider.Func == "" {
		out.Run = run
		return out
	}
	out.Start = func(ctx context.Context) (any, experiment.Undo, error) {
		output, err := run(ctx)
		if s, ok := output.(Started); ok {
			return s.Output, s.Undo, err
		}
		return output, nil, err
	}
	return out
}

// controls returns the registered controls, under the names and scopes of the
// document.
func (b *builder) controls(list []Control) (out []experiment.Control) {
	for _, c := range list {
		own := b.providers.Controls[c.Provider.Module]
		own.Name = c.Name
		own.Local = own.Local || c.Automatic != nil && !*c.Automatic
		switch c.Scope {
		case "before":
			own.After = nil
		case "after":
			own.Before = nil
		}
		if own.Before != nil || own.After != nil { // else it has no hook in this scope
			out = append(out, own)
		}
	}
	return out
}

func (b *builder) text(path, s string) string {
	text, err := b.values.string(s)
	if err != nil {
		b.cause(path, err)
	}
	return text
}

// seconds returns a time of the document: a number, or a text that becomes one.
func (b *builder) seconds(path string, v any) time.Duration {
	if v == nil {
		return 0
	}
	text := spell(v)
	if s, ok := v.(string); ok {
		text = b.text(path, s)
	}
	n, err := strconv.ParseFloat(text, 64)
	if d := n * float64(time.Second); err == nil && n >= 0 && d <= math.MaxInt64/2 {
		return time.Duration(d)
	}
	b.add(path, v, "seconds, 0 or more")
	return 0
}

func (r *Runtime) strategies() (s experiment.Strategies) {
	if r == nil {
		return s
	}
	if r.Rollbacks != nil {
		s.Rollbacks = r.Rollbacks.Strategy
	}
	if h := r.Hypothesis; h != nil {
		s.Hypothesis, s.FailFast, s.FailFastRatio = h.Strategy, h.FailFast, h.FailFastRatio
		s.Frequency = time.Duration(h.Frequency * float64(time.Second))
	}
	return s
}
