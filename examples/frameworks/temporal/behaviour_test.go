package temporal

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"go.temporal.io/sdk/interceptor"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/behaviour"
)

// start begins the workflow in the test suite, with the background context of a worker, and returns what waits for it.
func start(background context.Context, w behaviour.World, question string) (get func(context.Context) (string, error), err error) {
	var over atomic.Bool // then what would be attempted for ever fails for good
	env := newEnvironment(background, ServerTimeouts(), &around{call: func(ctx context.Context, in *input, next next) (any, error) {
		if over.Load() {
			return nil, sdk.NewNonRetryableApplicationError("the test is over", "over", nil)
		}
		return next.ExecuteActivity(ctx, in)
	}})
	client := openai.NewClient(option.WithAPIKey("none"), option.WithBaseURL("https://api.openai.example/v1/"),
		option.WithHTTPClient(&http.Client{Transport: w.Model}), option.WithMaxRetries(0))
	declared, err := Register(background, env, w.Tools)
	if err != nil {
		return nil, err
	}
	env.RegisterActivity(&Model{Client: client, Tools: declared})
	timed := InBubbleTime(env, Answer)
	done := make(chan struct{})
	w.AtEnd(func() {
		over.Store(true)
		<-done
	})
	go func() {
		defer close(done)
		env.ExecuteWorkflow(timed, question)
	}()
	return func(ctx context.Context) (answer string, err error) {
		select {
		case <-done:
		case <-ctx.Done(): // the client's WorkflowRun.Get does the same: the workflow goes on
			return "", ctx.Err()
		}
		if err := env.GetWorkflowError(); err != nil {
			return "", err
		}
		return answer, env.GetWorkflowResult(&answer)
	}, nil
}

func newEnvironment(background context.Context, more ...interceptor.WorkerInterceptor) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slog.New(slog.DiscardHandler))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: background, Interceptors: more})
	env.SetWorkflowRunTimeout(time.Hour)
	return env
}

func framework() behaviour.Framework {
	return behaviour.Framework{
		Name: "temporal", Module: "go.temporal.io/sdk", Dir: "temporal", API: chaoshttp.OpenAI, Target: "POST api.openai.example/*",
		Ask: func(ctx context.Context, w behaviour.World, question string) (string, error) {
			get, err := start(context.WithoutCancel(ctx), w, question)
			if err != nil {
				return "", err
			}
			return get(ctx)
		},
		GoesOn: "the workflow goes on",
		Add: map[behaviour.Column]string{
			behaviour.ToolError: "an end of the attempts: `MaximumAttempts` or `ScheduleToCloseTimeout`, and `temporal.NewNonRetryableApplicationError` for what " +
				"no attempt overcomes. To tell the model, give it the text of the activity's error as the result.",
			behaviour.TimeOut: "a short `StartToCloseTimeout`, and `ScheduleToCloseTimeout`: the first is for one attempt.",
			behaviour.LostReply: "a key by which the tool knows a call that is made again, such as run and activity identifiers of `activity.GetInfo(ctx)`, which all attempts share; " +
				"or `MaximumAttempts: 1`.",
			behaviour.Malformed: "a non-retryable error for arguments that do not fit.",
			behaviour.RateLimit: "`NextRetryDelay` of an application error, made from Retry-After: the policy does not know that header.",
			behaviour.Expired:   "`client.CancelWorkflow` when the caller gives up, and heartbeats, without which an activity does not learn of it.",
			behaviour.Parallel:  "where attempts have an end: a `Get` of every future before the workflow returns, or the results of the other activities are dropped.",
		},
		Silent: []behaviour.Silence{
			{Column: behaviour.LostReply, Fact: "an activity runs at least once, as Temporal documents: one that did its work and lost its reply runs again, and the answer tells of " +
				"one refund. The attempt is in the history and in `activity.GetInfo`."},
		},
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
