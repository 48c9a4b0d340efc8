package contracttest

import (
	"cmp"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/internal/redact"
)

// AuditRetries finds out whether tools are safe to call twice, as [audit.Run] does, and logs the result. A
// treatment is a subtest, in virtual time where o.NewWorld makes the worlds. t fails for each tool that is
// neither safe nor safe with its key, also where it could not be told, and for each claim that is
// contradicted. A tool that o does not allow is listed. If the audit cannot be made, AuditRetries fails t and
// stops it. In virtual time a tool that does its work without taking time cannot be called at once or be cancelled: let
// it sleep.
//
// Of c, which may be nil, RealTime, Workers, Watchdog, File, Reports and Secrets have a meaning; File and Reports
// have the default of [Run].
func AuditRetries(t *testing.T, o *audit.Options, c *Options) *audit.Result {
	t.Helper()
	own := *cmp.Or(c, new(Options))
	if own.Secrets = append([]string(nil), own.Secrets...); o != nil {
		own.Secrets = append(own.Secrets, o.Secrets...)
	}
	r := &runner{o: &own, secrets: redact.New(own.Secrets, redact.Patterns)}
	m, l, err := audit.Matrix(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatalf("contracttest: the audit was not made: %s", r.secrets.Text(err.Error()))
	}
	m.Secrets = own.Secrets
	r.virtual = virtualScenarios(m, r.o)
	run := r.runOptions(t)
	if run.Keep = contract.KeepAll; o.Every > 0 {
		run.Workers = 1
	}
	run.File = cmp.Or(own.File, os.Getenv(fileVariable))
	run.Harness.Around = func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) { r.cell(t, c, run) }
	report, err := m.Run(t.Context(), &run)
	if report == nil {
		t.Fatalf("contracttest: the audit did not run: %s", r.secrets.Text(err.Error()))
	}
	result := audit.Judge(l, report)
	var text strings.Builder
	if err := cmp.Or(err, result.Text(&text)); err != nil {
		t.Errorf("contracttest: the audit: %s", r.secrets.Text(err.Error()))
	}
	t.Log("\n" + r.secrets.Text(text.String()))
	for i := range result.Tools {
		for _, problem := range auditProblems(&result.Tools[i]) {
			t.Errorf("contracttest: %s: %s", result.Tools[i].Tool, r.secrets.Text(problem))
		}
	}
	r.files(t, testedPackage(), report)
	return result
}

// auditProblems are the reasons for which a test of a tool fails.
func auditProblems(tool *audit.ToolResult) (all []string) {
	if tool.Refused == "" && tool.Verdict != audit.Safe && tool.Verdict != audit.SafeWithKey {
		all = append(all, string(tool.Verdict)+": "+tool.Why)
	}
	for _, claim := range []struct {
		name     string
		standing audit.Standing
	}{{"readOnlyHint", tool.ReadOnly}, {"idempotentHint", tool.Idempotent}, {"destructiveHint: false", tool.Destructive}} {
		if claim.standing == audit.Contradicted {
			all = append(all, claim.name+" is contradicted")
		}
	}
	return all
}
