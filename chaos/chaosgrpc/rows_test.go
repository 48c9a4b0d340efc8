package chaosgrpc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func TestRows(t *testing.T) { catalogtest.Run(t, chaosgrpc.Rows()) }

// Each fault can be written in Go and in JSON, and either way it is the same.
func TestRowsAreReadFromPlans(t *testing.T) {
	o := &planjson.Options{Rows: chaosgrpc.Rows()}
	for _, f := range []chaos.Fault{chaosgrpc.Status(codes.ResourceExhausted, "quota"), chaosgrpc.Status(codes.NotFound, ""),
		chaosgrpc.GoAway(0), chaosgrpc.GoAway(3)} {
		plan, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: f})
		require.NoError(t, err)
		doc, err := planjson.Describe(plan, o)
		require.NoError(t, err)
		back, err := doc.Build(o)
		require.NoError(t, err)
		assert.Equal(t, f.(chaos.Described).Describe(), back.Rules()[0].Fault.(chaos.Described).Describe())
	}
	for code, want := range map[codes.Code]chaos.Persistence{codes.Unavailable: chaos.Transient, codes.NotFound: chaos.Permanent} {
		assert.Equal(t, want, chaosgrpc.Status(code, "").(chaos.Described).Describe().Persistence)
	}
}

func TestParametersThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		fault chaos.Fault
		param string
	}{
		{chaosgrpc.Status(codes.OK, ""), "code"}, {chaosgrpc.Status(17, ""), "code"}, {chaosgrpc.GoAway(-1), "after"},
	} {
		_, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: c.fault})
		var wrong *chaos.ParamError
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, c.param, wrong.Param)
	}
}

// The requirements of package chaos, on messages of gRPC: faults of this package, and some that change a message.
func TestConformance(t *testing.T) {
	for _, f := range []chaos.Fault{chaosgrpc.Status(codes.Unavailable, "no healthy upstream"), chaosgrpc.GoAway(0),
		fault.Replace(named("eve")), fault.LoseReply(), fault.Duplicate()} {
		synctest.Test(t, func(t *testing.T) {
			o := &chaostest.FaultOptions{Args: &chaosgrpc.Message{Value: &pb.SimpleRequest{}}, Result: &chaosgrpc.Message{Value: real()}}
			assert.NoError(t, chaostest.Fault(f, o), "%+v", f.(chaos.Described).Describe())
		})
	}
}

// The page of all faults has the rows, and that on determinism each fault.
func TestPagesHaveTheRows(t *testing.T) {
	var table strings.Builder
	fmt.Fprint(&table, "| kind | what happens | Go | parameters, an example | layer | class | visibility | persistence | effect |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range chaosgrpc.Rows() {
		fmt.Fprintf(&table, "| `%s` | %s | `%s` | `%s` | %s | %s | %s | %s | %s |\n", r.Kind, r.Doc, r.Go, r.Example, r.Layer, r.Class, r.Visibility, r.Persistence, r.Effect)
	}
	path := filepath.Join("..", "..", "docs", "reference", "faults.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	at := regexp.MustCompile(`(?s)<!-- grpc: generated -->\n(.*?)<!-- end -->`).FindSubmatchIndex(text)
	require.NotNil(t, at)
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		require.NoError(t, os.WriteFile(path, []byte(string(text[:at[2]])+table.String()+string(text[at[3]:])), 0o644))
		return
	}
	assert.Equal(t, table.String(), string(text[at[2]:at[3]]), "to accept: UPDATE_GOLDEN=1 go test -run Pages .")
	determinism, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "determinism.md"))
	require.NoError(t, err)
	for _, r := range chaosgrpc.Rows() {
		name, _, _ := strings.Cut(r.Go, "(")
		assert.Equal(t, 1, strings.Count(string(determinism), "| `"+name+"` | "), name)
	}
}

// Which calls a rule matches follows from their requests, in whatever order they come.
func TestIndependentOfOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.SampledFrom([]chaos.Fault{chaosgrpc.Status(codes.Aborted, ""), chaosgrpc.GoAway(1)}).Draw(rt, "fault")
		method := rapid.SampledFrom([]string{unary, output}).Draw(rt, "method")
		at := rapid.SampledFrom([]side{client, server}).Draw(rt, "side")
		orders := rapid.SliceOfNDistinct(rapid.IntRange(0, 99), 2, 8, rapid.ID[int]).Draw(rt, "orders")
		run := func(orders []int) map[int]string {
			got := map[int]string{}
			synctest.Test(t, func(t *testing.T) {
				in := injector(t, chaos.Rule{Name: "r", Target: "*", When: when.Prob(0.5), Fault: f})
				c := wrapped(t, &shop{}, at, in)
				for _, order := range orders {
					messages, err := ask(t.Context(), c, method, fmt.Sprint(order))
					got[order] = fmt.Sprint(messages, err)
				}
			})
			return got
		}
		assert.Equal(rt, run(orders), run(rapid.Permutation(orders).Draw(rt, "shuffled")))
	})
}
