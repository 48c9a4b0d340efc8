package toolkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/shakedown-go/shakedown/contract/experiment"
)

// Providers are what a document may call. The zero value allows http and process
// providers. Providers must not be changed while experiments made with them run.
type Providers struct {
	_ struct{}
	// Funcs are the providers of type function, by "module.func".
	Funcs map[string]Func
	// Controls are the controls that documents may use, by their module. The name in
	// the document takes precedence over that of the control.
	Controls map[string]experiment.Control
	// HTTP sends the requests. nil: a client with the settings of the standard library.
	HTTP *http.Client
	// Getenv reads the environment for configuration and secrets. nil: os.LookupEnv.
	Getenv func(name string) (value string, ok bool)
	// NoProcesses makes providers of type process a problem: the author of such a
	// document can run any program.
	NoProcesses bool
	// ChaosToolkit treats two cases as Chaos Toolkit does: an unknown ${name} stays as
	// it is, and a tolerance whose probe fails is missed. Otherwise both are errors.
	ChaosToolkit bool
}

// A Func is a provider. Its args are those of the document, decoded from JSON, with
// numbers as json.Number and ${names} substituted. [Bind] decodes them into a
// struct. An action may output a [Started].
type Func func(ctx context.Context, args map[string]any) (output any, err error)

// Started is the output of an action that has its own rollback.
type Started struct {
	Output any
	Undo   experiment.Undo
}

// Bind makes a provider of a function that takes its arguments as a struct or a
// map. Arguments without a field are an error.
func Bind[In, Out any](fn func(ctx context.Context, in In) (Out, error)) Func {
	return func(ctx context.Context, args map[string]any) (any, error) {
		var in In
		doc, err := json.Marshal(args)
		if err == nil {
			d := json.NewDecoder(bytes.NewReader(doc))
			d.DisallowUnknownFields()
			err = d.Decode(&in)
		}
		if err != nil {
			return nil, fmt.Errorf("toolkit: arguments: %w", err)
		}
		return fn(ctx, in)
	}
}

func (p *Providers) getenv(name string) (string, bool) {
	if p.Getenv != nil {
		return p.Getenv(name)
	}
	return os.LookupEnv(name)
}

// provider returns a function that calls a provider. Outputs of earlier activities
// are substituted when it is called.
func (b *builder) provider(p *Provider, path string) func(ctx context.Context, vs values) (any, error) {
	timeout := b.seconds(below(path, "timeout"), p.Timeout)
	var call func(ctx context.Context, vs values) (any, error)
	switch fn := b.providers.Funcs[p.Module+"."+p.Func]; p.Type {
	case "http":
		call = httpCall{b.providers.HTTP, p}.do
	case "process":
		call = process{p}.do
	default:
		call = func(ctx context.Context, vs values) (any, error) {
			args, err := arguments(p, vs)
			if err != nil {
				return nil, err
			}
			return fn(ctx, args)
		}
	}
	return func(ctx context.Context, vs values) (any, error) {
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		return call(ctx, vs.running(ctx))
	}
}

// arguments returns the substituted arguments of a provider.
func arguments(p *Provider, vs values) (map[string]any, error) {
	args := make(map[string]any)
	if p.Arguments != nil {
		if err := decode(p.Arguments, &args); err != nil {
			return nil, fmt.Errorf("toolkit: arguments: %w", err)
		}
	}
	v, err := vs.any(args)
	if err != nil {
		return nil, fmt.Errorf("toolkit: arguments: %w", err)
	}
	args = v.(map[string]any)
	if vs.judged != nil {
		args["value"] = *vs.judged
	}
	return args, nil
}
