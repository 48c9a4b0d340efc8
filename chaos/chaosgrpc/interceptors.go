package chaosgrpc

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/shakedown-go/shakedown/chaos"
)

// Options are the settings of the interceptors; the zero value works.
type Options struct {
	_ struct{}
	// Name comes before the full method name in the names of injection points, "payments/shop.Payments/Charge" for the
	// name "payments", so that rules tell two servers, or the two sides of one call, apart. Empty: nothing does.
	Name string
	// Injector binds the points to an injector, whatever the contexts of calls carry. A server needs it: no injector
	// comes with a request. nil: that of the context.
	Injector *chaos.Injector
}

// UnaryClient makes injection points of the unary calls of a client, for grpc.WithUnaryInterceptor or
// grpc.WithChainUnaryInterceptor. o may be nil. It is safe for concurrent use, as are the other interceptors.
func UnaryClient(o *Options) grpc.UnaryClientInterceptor { return newPoints(o).unaryClient }

// StreamClient does so for streaming calls, for grpc.WithStreamInterceptor or grpc.WithChainStreamInterceptor.
func StreamClient(o *Options) grpc.StreamClientInterceptor { return newPoints(o).streamClient }

// UnaryServer makes injection points of the unary methods of a server, for grpc.UnaryInterceptor or
// grpc.ChainUnaryInterceptor. o may be nil; see [Options].Injector.
func UnaryServer(o *Options) grpc.UnaryServerInterceptor { return newPoints(o).unaryServer }

// StreamServer does so for streaming methods, for grpc.StreamInterceptor or grpc.ChainStreamInterceptor.
func StreamServer(o *Options) grpc.StreamServerInterceptor { return newPoints(o).streamServer }

// points are the injection points of one interceptor.
type points struct {
	opts    Options
	targets atomic.Pointer[map[string]string] // by full method name, if Options has a name
	buffers sync.Pool                         // of *[]byte, for keys
}

func newPoints(o *Options) *points {
	p := &points{opts: *cmp.Or(o, &Options{})}
	p.targets.Store(&map[string]string{})
	return p
}

const maxTargets = 1000 // that are kept; others are made for each call

// target names the point of a method, without an allocation if it was named before.
func (p *points) target(method string) string {
	if p.opts.Name == "" {
		return method
	}
	known := *p.targets.Load()
	target, ok := known[method]
	if !ok {
		target = p.opts.Name + method
		if len(known) < maxTargets {
			more := maps.Clone(known)
			more[method] = target
			p.targets.Store(&more)
		}
	}
	return target
}

// point finds that of a call; a nil injector: nothing can happen to the call.
func (p *points) point(ctx context.Context, method string) (*chaos.Injector, string) {
	in := p.opts.Injector
	if in == nil {
		in = chaos.FromContext(ctx)
	}
	if in == nil {
		return nil, ""
	}
	target := p.target(method)
	if !in.MayAffect(target) {
		return nil, ""
	}
	return in, target
}

// arrival is a call that has begun.
type arrival struct {
	chaos.Crossing
	target string
	key    uint64
	keyed  bool // key is known
}

// arrive begins a call with a request; nil: its requests come later.
func (p *points) arrive(ctx context.Context, in *chaos.Injector, target string, layer chaos.Layer,
	request any) (x arrival) {
	x.target = target
	x.Crossing = in.Arrive(ctx, target, "", layer, request != nil)
	if x.Waiting() {
		if x.keyed = true; request != nil {
			x.key = p.keyOf(request)
		}
		args := request // boxed for the few that look at it
		if x.WantsArgs() {
			args = &Message{Value: request}
		}
		x.Match(x.key, args)
	}
	return x
}

// ended says how a call that passed through ended, and returns its error.
func (x *arrival) ended(err error) error {
	if x.keyed {
		x.Passed(x.key, err)
	}
	return err
}
