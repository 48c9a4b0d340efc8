package eino

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"iter"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/shakedown-go/shakedown/chaos"
)

// Points makes injection points of the tools of an agent, under their names, with the injector of the context. It is for
// ToolCallMiddlewares of a tools node. A failure of a streamed call is an error of its stream, not of the call.
func Points() compose.ToolMiddleware {
	return compose.ToolMiddleware{Invokable: invokable, Streamable: streamable}
}

func invokable(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
		call := chaos.WrapDispatch(func(ctx context.Context, _ string, args string) (string, error) {
			out, err := next(ctx, with(in, args))
			if err != nil {
				return "", err
			}
			return out.Result, nil
		})
		result, err := call(ctx, in.Name, in.Arguments)
		if err != nil {
			return nil, err
		}
		return &compose.ToolOutput{Result: result}, nil
	}
}

func streamable(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
		call := chaos.WrapStreamWith(in.Name, func(ctx context.Context, args string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				out, err := next(ctx, with(in, args))
				if err != nil {
					yield("", err)
					return
				}
				defer out.Result.Close()
				for more := true; more; {
					part, err := out.Result.Recv()
					if errors.Is(err, io.EOF) {
						return
					}
					more = yield(part, err) && err == nil
				}
			}
		}, &chaos.WrapOptions[string]{Key: key})
		parts, sent := schema.Pipe[string](0)
		go func() {
			defer sent.Close()
			for part, err := range call(ctx, in.Arguments) {
				if sent.Send(part, err) {
					return
				}
			}
		}()
		return &compose.StreamToolOutput{Result: parts}, nil
	}
}

// key is the same for equal arguments.
func key(args string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, args)
	return h.Sum64()
}

func with(in *compose.ToolInput, args string) *compose.ToolInput {
	call := *in
	call.Arguments = args
	return &call
}
