package repocheck

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A block is a Go block of a page, with the directives before it. Its form is the
// first of these that can be parsed:
//
//   - a file with its package and its imports;
//   - declarations;
//   - statements, in a function with ctx and t;
//   - elements of a composite literal, of any values if no directive has its type.
type block struct {
	page      string
	line      int // of its first line in the page
	code      string
	continues bool
	in        string // type of the literal that it is elements of
	returns   string // results of the function around it
	given     []given
	file      string // whose text it is
}

// given is a declaration in a directive.
type given struct {
	line int
	code string
}

// A unit is blocks that share a scope.
type unit struct{ blocks []block }

// A Go block with its directives, or directives without a block.
var goBlock = regexp.MustCompile("(?ms)^((?:<!-- go: .*?-->\n+)*)(```go\n(.*?)^```$)|^<!-- go: .*?-->$")

var goDirective = regexp.MustCompile(`(?s)<!-- go: (.*?)\s*-->`)

// pageBlocks are the Go blocks of a page.
type pageBlocks struct {
	units       []*unit
	files       []block // those that show a file
	notCompiled int
}

// blocksOf returns the blocks of a page.
func blocksOf(page, text string) (all pageBlocks, err error) {
	var problems []error
	for _, m := range goBlock.FindAllStringSubmatchIndex(text, -1) {
		lineOf := func(at int) int { return 1 + strings.Count(text[:at], "\n") }
		problem := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("%s:%d: "+format, append([]any{page, lineOf(m[0])}, args...)...))
		}
		if m[4] < 0 {
			problem("a directive with no Go block behind it")
			continue
		}
		b, compiled := block{page: page, line: lineOf(m[6]), code: text[m[6]:m[7]]}, true
		for _, d := range goDirective.FindAllStringSubmatchIndex(text[m[2]:m[3]], -1) {
			words := text[m[2]+d[2] : m[2]+d[3]]
			name, rest, _ := strings.Cut(words, " ")
			reason, isLeft := strings.CutPrefix(words, "not compiled:")
			declared, isGiven := strings.CutPrefix(words, "given\n")
			switch {
			case words == "continues":
				b.continues = true
			case name == "in" && rest != "":
				b.in = rest
			case name == "returns" && rest != "":
				b.returns = rest
			case name == "file" && rest != "":
				b.file = rest
			case isGiven:
				b.given = append(b.given, given{line: lineOf(m[2]+d[2]) + 1, code: declared})
			case isLeft && strings.TrimSpace(reason) == "":
				problem("a block that is not compiled needs a reason")
			case isLeft:
				compiled = false
				all.notCompiled++
			default:
				problem("directive %q; allowed: continues, file, in, returns, given, not compiled:", words)
			}
		}
		if b.file != "" {
			all.files = append(all.files, b)
		}
		switch {
		case !compiled:
		case !b.continues:
			all.units = append(all.units, &unit{blocks: []block{b}})
		case len(all.units) == 0:
			problem("there is no block before this one")
		default:
			last := all.units[len(all.units)-1]
			last.blocks = append(last.blocks, b)
		}
	}
	return all, errors.Join(problems...)
}

// A form is how a block can be parsed.
type form int

const (
	formFile form = iota
	formDecls
	formStatements
	formElements
)

// around puts the code where its form is parsed, and returns what to put behind.
func (b block) around(f form) (before, behind string) {
	switch f {
	case formFile:
		return "", ""
	case formDecls:
		return "package block\n", ""
	case formStatements:
		return "package block\nfunc _() {\n", "\n}\n"
	}
	in := b.in
	if in == "" {
		in = "[]any"
	}
	return "package block\nvar _ = " + in + "{\n", "\n}\n"
}

// text returns the code as it is parsed. After the last element there is a comma.
func (b block) text(f form) string {
	code := strings.TrimRight(b.code, "\n")
	if f == formElements && !strings.HasSuffix(code, ",") {
		code += "," // or one more in a comment
	}
	return fmt.Sprintf("//line %s:%d\n%s\n", b.page, b.line, code)
}

// form returns the first form that can be parsed, with the parsed text; else the
// problem of the likeliest one, the statements.
func (b block) form() (form, *ast.File, error) {
	var problem error
	for f := formFile; f <= formElements; f++ {
		if b.in != "" && f != formElements {
			continue
		}
		before, behind := b.around(f)
		file, err := parser.ParseFile(token.NewFileSet(), "", before+b.text(f)+behind, parser.SkipObjectResolution)
		if err == nil && !(f == formStatements && onlyValues(file)) {
			return f, file, nil
		}
		if err != nil && (f == formStatements || problem == nil && f == formElements) {
			problem = err
		}
	}
	return 0, nil, problem
}

// onlyValues reports whether the function of a file is values that are no statements,
// such as a literal: they can be parsed, but not compiled.
func onlyValues(file *ast.File) bool {
	body := file.Decls[0].(*ast.FuncDecl).Body.List
	return len(body) == 1 && !slices.ContainsFunc(body, func(s ast.Stmt) bool {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			return true
		}
		_, calls := e.X.(*ast.CallExpr)
		return calls
	})
}

// source returns the unit as a file, with the line of each block in its page, and
// what it imports.
func (u *unit) source(names map[string][]string) (source string, imports []string, err error) {
	var decls, body, used strings.Builder
	results := ""
	for _, b := range u.blocks {
		f, file, err := b.form()
		if err != nil {
			return "", nil, err
		}
		for _, g := range b.given {
			fmt.Fprintf(&decls, "//line %s:%d\n%s\n", b.page, g.line, g.code)
		}
		switch f {
		case formFile:
			for _, spec := range file.Imports {
				importPath, _ := strconv.Unquote(spec.Path.Value) // it was parsed
				imports = append(imports, importPath)
			}
			if len(u.blocks) > 1 || len(b.given) > 0 {
				return "", nil, fmt.Errorf("%s:%d: a whole file has its scope alone", b.page, b.line)
			}
			return b.text(f), imports, nil
		case formStatements:
			body.WriteString(b.text(f))
			statements := file.Decls[0].(*ast.FuncDecl).Body
			for _, name := range variables(statements) {
				used.WriteString("_ = " + name + "\n")
			}
			if b.returns != "" {
				results = b.returns
			} else if results == "" && returnsValue(statements) {
				results = "error"
			}
		default:
			before, behind := b.around(f)
			_, before, _ = strings.Cut(before, "\n") // past the package
			decls.WriteString(before + b.text(f) + behind)
		}
	}
	end := "\n}\n"
	if results != "" {
		end = "\npanic(0)" + end
	}
	text := "\n" + decls.String() + "func _(ctx context.Context, t *testing.T) " + results + " {\n" + body.String() + "//line frame:1\n" + used.String() + end
	imports, err = found(text, names)
	if err != nil {
		return "", nil, fmt.Errorf("%s:%d: %w", u.blocks[0].page, u.blocks[0].line, err)
	}
	var header strings.Builder
	header.WriteString("package block\n")
	for _, importPath := range imports {
		fmt.Fprintf(&header, "import %q\n", importPath)
	}
	return header.String() + text, imports, nil
}

// variables lists what the statements of a block declare. Readers see no more than
// the block, so it need not use them all.
func variables(body *ast.BlockStmt) []string {
	found := make(map[string]bool)
	for _, s := range body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			for _, left := range s.Lhs {
				if id, ok := left.(*ast.Ident); ok && s.Tok == token.DEFINE {
					found[id.Name] = true
				}
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && s.Decl.(*ast.GenDecl).Tok == token.VAR {
					for _, id := range v.Names {
						found[id.Name] = true
					}
				}
			}
		}
	}
	delete(found, "_")
	return slices.Sorted(maps.Keys(found))
}

// returnsValue reports whether a statement returns a value, other than in a function
// literal.
func returnsValue(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
			found = true
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return found
}

// found returns the packages whose names the text uses and does not declare.
func found(text string, names map[string][]string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package block\n"+text, 0)
	if err != nil {
		return nil, err
	}
	unresolved := make(map[*ast.Ident]bool)
	for _, id := range file.Unresolved {
		unresolved[id] = true
	}
	imports := make(map[string]bool)
	var problems []error
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := s.X.(*ast.Ident)
		if !ok || !unresolved[id] {
			return true
		}
		switch paths := names[id.Name]; len(paths) {
		case 0: // the type checker reports it
		case 1:
			imports[paths[0]] = true
		default:
			problems = append(problems, fmt.Errorf("%s may be %s: write a whole file", id.Name, strings.Join(slices.Sorted(slices.Values(paths)), ", ")))
		}
		return true
	})
	return slices.Sorted(maps.Keys(imports)), errors.Join(problems...)
}
