// Package bedrock holds what a caller of Amazon's Go client for Bedrock gets of faults.
package bedrock

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/when"
)

const (
	model  = "anthropic.claude-sonnet-4-5-v1:0"
	target = "POST bedrock-runtime.us-east-1.amazonaws.com/model/" + model + "/converse"
	said   = "Order 1042 was shipped to Zoë on Monday."
)

// provider answers a conversation.
type provider struct{ kind, body string }

func (p provider) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{"Content-Type": {p.kind}}, ContentLength: int64(len(p.body)),
		Body: io.NopCloser(strings.NewReader(p.body)), Request: r}, nil
}

var answer = provider{"application/json", `{"output":{"message":{"role":"assistant","content":[{"text":"` + said + `"}]}},` +
	`"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":9,"totalTokens":16},"metrics":{"latencyMs":1}}`}

func newClient(base http.RoundTripper) *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{
		Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDNONE", SecretAccessKey: "none"}, nil
		}),
		HTTPClient: &http.Client{Transport: chaoshttp.NewTransport(base, nil)},
	})
}

func ask(ctx context.Context, client *bedrockruntime.Client) (string, error) {
	out, err := client.Converse(ctx, &bedrockruntime.ConverseInput{ModelId: aws.String(model), Messages: []types.Message{{
		Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Where is order 1042?"}},
	}}})
	if err != nil {
		return "", err
	}
	text := ""
	for _, block := range out.Output.(*types.ConverseOutputMemberMessage).Value.Content {
		text += block.(*types.ContentBlockMemberText).Value
	}
	return text, nil
}

// The client knows each error by its type, and tries those again that may pass.
func TestErrors(t *testing.T) {
	for kind, want := range map[chaoshttp.ErrorKind]struct {
		err      error
		attempts int
	}{
		chaoshttp.KindInvalidRequest: {&types.ValidationException{}, 1},
		chaoshttp.KindContextLength:  {&types.ValidationException{}, 1},
		chaoshttp.KindAuthentication: {&smithy.GenericAPIError{Code: "UnrecognizedClientException"}, 1},
		chaoshttp.KindQuota:          {&types.ServiceQuotaExceededException{}, 1},
		chaoshttp.KindPermission:     {&types.AccessDeniedException{}, 1},
		chaoshttp.KindNotFound:       {&types.ResourceNotFoundException{}, 1},
		chaoshttp.KindRateLimit:      {&types.ThrottlingException{}, 3},
		chaoshttp.KindServer:         {&types.InternalServerException{}, 3},
		chaoshttp.KindTimeout:        {&types.ModelTimeoutException{}, 1},
		chaoshttp.KindOverloaded:     {&types.ServiceUnavailableException{}, 3},
	} {
		for _, api := range []chaoshttp.API{chaoshttp.Bedrock, ""} {
			t.Run(string(kind)+" "+string(api), func(t *testing.T) {
				in, text, err := under(t, answer, chaos.Rule{Fault: chaoshttp.APIError(api, kind, nil)})
				assert.Empty(t, text)
				var is smithy.APIError
				require.ErrorAs(t, err, &is)
				assert.Equal(t, want.err.(smithy.APIError).ErrorCode(), is.ErrorCode())
				assert.IsType(t, want.err, is)
				assert.NotEmpty(t, is.ErrorMessage())
				assert.Len(t, in.Events(), want.attempts)
				for _, e := range in.Events() {
					assert.True(t, e.Delivered)
					assert.Equal(t, chaos.LayerLLM, e.Layer)
					assert.Equal(t, target+"#"+model, e.Target)
				}
			})
		}
	}
}

// under asks once, in virtual time.
func under(t *testing.T, base http.RoundTripper, r chaos.Rule) (in *chaos.Injector, text string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r.Target = "POST *#" + model
		plan, problem := chaos.NewPlan(1, r)
		require.NoError(t, problem)
		in = plan.Injector("bedrock", nil)
		ctx, cancel := context.WithTimeout(chaos.NewContext(t.Context(), in), time.Hour)
		defer cancel()
		text, err = ask(ctx, newClient(base))
	})
	return in, text, err
}

// Throttling that passes, and faults of the connection and of the body.
func TestTransport(t *testing.T) {
	for name, c := range map[string]struct {
		rule  chaos.Rule
		fails bool
	}{
		"throttled once": {chaos.Rule{When: when.Nth(1), Fault: chaoshttp.APIError("", chaoshttp.KindRateLimit, nil)}, false},
		"reset once":     {chaos.Rule{When: when.Nth(1), Fault: chaoshttp.Reset()}, false},
		"slow":           {chaos.Rule{Fault: chaoshttp.SlowHeaders(time.Minute)}, false},
		"cut":            {chaos.Rule{Fault: chaoshttp.CutBody(60)}, true},
		"a page":         {chaos.Rule{Fault: chaoshttp.HTMLPage()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			in, text, err := under(t, answer, c.rule)
			assert.True(t, in.Events()[0].Delivered)
			assert.Equal(t, c.fails, err != nil, "%v", err)
			assert.Equal(t, c.fails, text != said)
		})
	}
}

// What a model says in a form of Amazon's own is not known: the client gets it as it is.
func TestOwnFormsAreNotEdited(t *testing.T) {
	for _, f := range []chaos.Fault{chaoshttp.CutCompletion(3), chaoshttp.EmptyCompletion(), chaoshttp.CutStream(1)} {
		in, text, err := under(t, answer, chaos.Rule{Fault: f})
		require.NoError(t, err)
		assert.Equal(t, said, text)
		require.Len(t, in.Events(), 1)
		assert.False(t, in.Events()[0].Delivered)
		assert.NotEmpty(t, in.Events()[0].Note)
	}
}

// An answer of InvokeModel has the form of the model's provider.
func TestInvokedModels(t *testing.T) {
	message := provider{"application/json", `{"type":"message","role":"assistant","content":[{"type":"text","text":"` + said + `"}],"stop_reason":"end_turn"}`}
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "POST */invoke", Fault: chaoshttp.CutCompletion(5)})
	require.NoError(t, err)
	in := plan.Injector("bedrock", nil)
	out, err := newClient(message).InvokeModel(chaos.NewContext(t.Context(), in), &bedrockruntime.InvokeModelInput{
		ModelId: aws.String(model), Body: []byte(`{"messages":[]}`), ContentType: aws.String("application/json")})
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"message","role":"assistant","content":[{"type":"text","text":"Order"}],"stop_reason":"max_tokens"}`, string(out.Body))
	assert.True(t, in.Events()[0].Delivered)
	assert.False(t, errors.Is(err, chaos.ErrInjected))
}
