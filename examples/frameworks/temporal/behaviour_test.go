package temporal

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/behaviour"
)

// start begins the workflow in the test suite, with the background context of a worker, and returns what waits for it.
func start(background context.Context, w behaviour.World, question string) (get func(context.Context) (string, error), err error) {
	env := newEnvironment(background)
	client := openai.NewClient(option.WithAPIKey("none"), option.WithBaseURL("https://api.openai.example/v1/"),
		option.WithHTTPClient(&http.Client{Transport: w.Model}), option.WithMaxRetries(0))
	declared, err := Register(background, env, w.Tools)
	if err != nil {
		return nil, err
	}
	env.RegisterActivity(&Model{Client: client, Tools: declared})
	timed := InBubbleTime(env, Answer)
	done := make(chan struct{})
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
	}
}

func TestBehaviour(t *testing.T) { framework().Table(t) }
func TestContract(t *testing.T)  { framework().Contract(t) }
