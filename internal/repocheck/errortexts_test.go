package repocheck

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Functions that may look into the text of an error, by folder and name, with the reason. Elsewhere a decision on such
// a text would change with the next version of Go, or of the library that made it.
var readsErrorText = map[string]string{
	"contract check":                        "leaves out a prefix of this package, for people",
	"chaos RuleError.Error":                 "leaves out the prefix of this package, for people",
	"chaos/chaoshttp/modeltest Model.fail":  "makes one line of several, for people",
	"chaos/chaostest faultCheck.checkError": "asks whether there is a text to show",
	"chaos/chaostest faultCheck.failer":     "compares two texts of one error of the fault under test",
	"chaos/planjson Error.Error":            "asks whether there is a text to show",
	"contract/cassette Player.fail":         "keeps one of two equal errors of this package",
	"contract/replay meant":                 "reads what a record says: a text there is data",
	"contract/suite endpoint.hide":          "asks whether a secret was taken out of the text",
	"contract/suite Error.Error":            "asks whether there is a text to show",
	"contract/suite yamlReader.unparsed":    "takes the line from a text of the YAML library, which has no type for it",
	"examples/triage/blobstore Open":        "takes a secret out of the text",
	"internal/fielderror Error.Error":       "leaves out the prefix of a package of ours, for people",
	"internal/fielderror Apart":             "compares joined errors with their parts",
	"internal/strictjson Problem.Error":     "asks whether there is a text to show",
	"mcpadapter planProblem":                "leaves out prefixes of packages of ours, for people",
	"mcpadapter/policy badArguments":        "the SDK gives its complaints no type; a test holds their words, and a miss only makes a 500 of a 400",
}

func TestNoDecisionOnTheTextOfAnError(t *testing.T) {
	used := make(map[string]bool)
	for _, p := range everyPackage(t) {
		for _, place := range errorTextsRead(p) {
			used[place] = true
			if readsErrorText[place] == "" {
				t.Errorf("%s decides on the text of an error: use errors.Is, errors.As or a type, or add a reason", place)
			}
		}
	}
	for place := range readsErrorText {
		assert.True(t, used[place], "%s reads no text of an error any more", place)
	}
}

func TestDecisionsOnErrorTextsAreSeen(t *testing.T) {
	p := snippet(t, `package snippet
		func searches(err error) bool { return strings.HasSuffix(err.Error(), "timeout") }
		func matches(err error) bool { return timedOut.MatchString(err.Error()) }
		func compares(err error) bool { return err.Error() == "EOF" }
		func chooses(err error) { switch err.Error() { case "EOF": } }
		func first(err error) bool { text := err.Error(); return strings.Contains(text, "EOF") }
		func (t *thing) later(err error) bool { var text = err.Error(); return text != "EOF" }
		func shows(err error) string { return "failed: " + err.Error() }
		func asks(err error) bool { return errors.Is(err, io.EOF) }
		func other(err error) bool { text := err.Error(); return strings.Contains(name, show(text)) }
	`)
	assert.Equal(t, []string{"snippet chooses", "snippet compares", "snippet first", "snippet matches", "snippet searches",
		"snippet thing.later"}, errorTextsRead(p))
}

// errorTextsRead returns the functions in which something is decided by the text of an error, or which change one.
func errorTextsRead(p goPackage) (places []string) {
	for _, f := range p.code() {
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !readsText(fn) {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				name = receiver(fn) + "." + name
			}
			places = append(places, p.dir+" "+name)
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

func readsText(fn *ast.FuncDecl) (found bool) {
	texts := errorTexts(fn)
	isText := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return isErrorCall(e) || ok && texts[id.Name]
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || searchesText(n) && slices.ContainsFunc(n.Args, isText)
		case *ast.BinaryExpr:
			found = found || (n.Op == token.EQL || n.Op == token.NEQ) && (isText(n.X) || isText(n.Y))
		case *ast.SwitchStmt:
			found = found || isText(n.Tag)
		}
		return !found
	})
	return found
}

// errorTexts returns the names of the variables of a function that hold the text of an error.
func errorTexts(fn *ast.FuncDecl) map[string]bool {
	texts := make(map[string]bool)
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if id, ok := n.Lhs[i].(*ast.Ident); ok && isErrorCall(value) {
					texts[id.Name] = true
				}
			}
		case *ast.ValueSpec:
			for i, value := range n.Values {
				texts[n.Names[i].Name] = texts[n.Names[i].Name] || isErrorCall(value)
			}
		}
		return true
	})
	return texts
}

func isErrorCall(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && method.Sel.Name == "Error"
}

// searchesText reports whether a call is one of package strings or of a regular expression.
func searchesText(call *ast.CallExpr) bool {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if pkg, ok := fn.X.(*ast.Ident); ok && (pkg.Name == "strings" || pkg.Name == "regexp") {
		return true
	}
	return slices.ContainsFunc([]string{"MatchString", "FindString", "ReplaceAllString", "ReplaceAllLiteralString"},
		func(name string) bool { return strings.HasPrefix(fn.Sel.Name, name) })
}
