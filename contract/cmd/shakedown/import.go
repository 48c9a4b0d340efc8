package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // for the test
	"errors"
	"fmt"
	"go/build"
	"go/format"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/replay/dialect"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

//go:embed import.tmpl
var testOfSessions string

const incidents = "testdata/incidents" // in the folder of the test

// importTrace says what a trace has, and makes sessions and a test of it.
func importTrace(_ context.Context, c *command) (status int, err error) {
	o := &dialect.Options{}
	c.flags.StringVar(&o.Dialect, "dialect", "", "the form of the trace, a `NAME`: "+strings.Join(dialect.Names(), ", ")+"; left out: it is recognised")
	into := c.flags.String("into", "", "write sessions and a Go test into `FOLDER`, a new one for each trace; left out: nothing is written")
	c.flags.Func("effect", "a tool whose calls change something, `TOOL` or TOOL=/KEY with the JSON pointer of its idempotency key; "+
		"may be repeated", func(value string) error {
		name, key, keyed := strings.Cut(value, "=")
		if name == "" || keyed && !strings.HasPrefix(key, "/") {
			return errors.New("no tool, or no pointer")
		}
		o.Tools = append(o.Tools, chaos.Tool{Name: name, Effect: chaos.EffectDone, IdempotencyKey: key})
		return nil
	})
	operands, err := c.parse(1, 1)
	if err != nil {
		return 0, err
	}
	data, err := input(operands[0], "a trace")
	if err != nil {
		return 0, err
	}
	sessions, err := dialect.Import(bytes.NewReader(data), o)
	if err != nil {
		return 0, inFile(operands[0], err)
	}
	test := &sessionTest{Invariants: []string{`invariant.Completes("completes", contract.High)`}}
	for _, s := range sessions {
		if err := test.add(c.out, s); err != nil {
			return 0, err
		}
	}
	if *into == "" {
		fmt.Fprintln(c.out, "\nnothing is written; --into FOLDER keeps the sessions, with a test that plays them")
		return 0, nil
	}
	return 0, test.write(c.out, *into, sessions)
}

// A sessionTest is what the test of sessions is made of.
type sessionTest struct {
	Package    string
	Invariants []string // as Go
	Holes      bool     // a session lacks something that a player must know
	Lacks      bool     // a session lacks calls
}

// add says what a session shows, and adds what must hold when it is played.
func (t *sessionTest) add(w io.Writer, s *replay.Session) error {
	found, err := s.Findings(nil)
	if err != nil {
		return err
	}
	for _, row := range judges {
		shown := len(found.Of(row.kind)) > 0 || found.Unjudged[row.kind] != ""
		if shown && !slices.Contains(t.Invariants, row.invariant) {
			t.Invariants = append(t.Invariants, row.invariant)
		}
	}
	_, holes := s.Player(nil)
	t.Holes, t.Lacks = t.Holes || holes != nil, t.Lacks || s.NotImported > 0
	return replay.Text(w, s)
}

// judges are the invariants of kinds of findings, as Go.
var judges = []struct {
	kind      findings.Kind
	invariant string
}{
	{findings.DuplicateEffect, `invariant.AtMostOnce("once", contract.Critical, replay.Effects.Names)`},
	{findings.Abandoned, `invariant.NothingLeftOpen("nothing-left-open", contract.High)`},
	{findings.AfterFinal, `invariant.StopsWhenFinal("stops-when-final", contract.Medium)`},
	{findings.Loop, `invariant.NoLoops("no-loops", contract.Medium)`},
	{findings.Storm, `invariant.RetriesAtMost("few-retries", contract.Medium, 2, "*")`},
	{findings.Fabricated, `invariant.Grounded("grounded", contract.High, nil)`},
}

// write writes the sessions and their test. A file that is there stays: somebody may have mended it.
func (t *sessionTest) write(w io.Writer, folder string, sessions []*replay.Session) error {
	if err := os.MkdirAll(filepath.Join(folder, incidents), 0o777); err != nil {
		return fields.Because(folder, nil, err, "a folder")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fields.Because(folder, nil, err, "a folder")
	}
	defer root.Close()
	create := func(name string, data []byte) error {
		err := wholefile.Create(root, name, data)
		switch {
		case errors.Is(err, fs.ErrExist):
			fmt.Fprintf(w, "%s is there, and stays as it is\n", filepath.Join(folder, name))
			return nil
		case err == nil:
			fmt.Fprintf(w, "written: %s\n", filepath.Join(folder, name))
		}
		return err
	}
	fmt.Fprintln(w)
	for _, s := range sessions {
		file, err := s.Encode()
		if err == nil {
			err = create(path.Join(incidents, s.Name+".json"), file)
		}
		if err != nil {
			return err
		}
	}
	if p, _ := build.ImportDir(folder, 0); p != nil { // an error is that there is nothing but tests
		t.Package = cmp.Or(p.Name, "incidents") + "_test"
	}
	var b bytes.Buffer
	if err := template.Must(template.New("").Parse(testOfSessions)).Execute(&b, t); err != nil {
		return err
	}
	source, err := format.Source(b.Bytes())
	return cmp.Or(err, create("incidents_test.go", source))
}
