package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/cmdline"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/wholefile"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/scoring"
)

// auditing is one call of shakedown-mcp audit: what was typed, and the servers that it has started.
type auditing struct {
	flags   *flag.FlagSet
	options audit.Options
	command []string // of the server; nil: it is at url
	url     string
	token   string // for the server there

	reset, stateURL, stateResource string
	proxies                        []proxied
	reads                          []string
	examples, session              string          // files
	recorded                       []findings.Call // in the session
	dry                            bool
	files                          map[string]*string // to write, by form

	mu   sync.Mutex
	ends []func() // of the processes that were started
	over bool     // no process starts any more
}

// A proxied is an API that the server reaches through a proxy: by a variable of that name, or by its own address, whose
// host is intercepted. The proxy passes requests on to an address, or to nobody, and then gives that answer.
type proxied struct{ name, host, to, answer string }

const auditExample = `shakedown-mcp audit --allow create_refund --proxy 'https://api.example.com={"id":"r1"}' -- ./payments-mcp-server stdio`

// runAudit makes the audit, and returns the status to exit with: those of [report.ExitCode].
func runAudit(ctx context.Context, args []string, out, problems io.Writer) int {
	a := &auditing{files: map[string]*string{}}
	defer a.endAll()
	a.declare()
	status, err := a.run(ctx, args, out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(out, "shakedown-mcp %s\n  finds out which tools of an MCP server are safe to call twice. "+
			"It calls them: use a sandbox.\n\n  %s\n", a.flags.Name(), auditExample)
		cmdline.Print(out, a.flags)
		fmt.Fprint(out, "\nExit status: 0 no tool that was called doubles its work, leaves a part of it or is wedged; 1 one does, or\n"+
			"contradicts its annotations; 2 not decided; 3 wrong use; 4 the server or this machine failed.\n")
		return 0
	case err != nil:
		rules := redact.Patterns // for what a server said
		if _, typed := errors.AsType[*fielderror.Error](err); typed {
			rules = 0 // "--token is" looks like a secret
		}
		fmt.Fprintln(problems, redact.New(a.options.Secrets, rules).Text(err.Error()))
		if status == 0 {
			status = report.ExitCode(nil, err, 0)
		}
	}
	return status
}

// declare makes the flags.
func (a *auditing) declare() {
	f := flag.NewFlagSet("audit [FLAGS] -- COMMAND ARG...", flag.ContinueOnError)
	a.flags = f
	o := &a.options
	o.Example, o.Keys = map[string]json.RawMessage{}, map[string]string{}
	f.StringVar(&a.url, "url", "", "the server at `URL`, in place of a command")
	f.Func("token", "the bearer token for the server at --url, in the environment `VARIABLE`", func(s string) error {
		a.token = a.secret(s)
		return given(a.token != "")
	})
	f.Func("secret", "an environment `VARIABLE` whose value no output may repeat; may be repeated",
		func(s string) error { return given(a.secret(s) != "") })
	f.Func("allow", "call the tool of that `NAME`; may be repeated", func(s string) error {
		o.Allow = append(o.Allow, s)
		return given(s != "")
	})
	f.BoolVar(&o.Sandbox, "sandbox", false, "call all tools but those that claim to be destructive: "+
		"the server works on nothing of value")
	f.BoolVar(&a.dry, "dry", false, "list what would be called, and call nothing")
	f.DurationVar(&o.Every, "every", 0, "wait for a `DURATION` such as 500ms before each call")
	f.DurationVar(&o.Timeout, "timeout", 0, "the `DURATION`, such as 10s, after which a call is given up; left out: 30s")
	f.DurationVar(&o.Settle, "settle", 0, "the `DURATION`, such as 1s, after the last call until the state is read; "+
		"left out: twice that of a call, and 50ms at least")
	f.IntVar(&o.Cancellations, "cancellations", 0, "cancel a call at that `NUMBER` of moments, "+
		"and at as many where the state changes; left out: 8")
	f.StringVar(&o.StateTool, "state-tool", "", "the state is the result of the tool of that `NAME`")
	f.StringVar(&a.stateResource, "state-resource", "", "the state is the resource of that `URI`")
	f.StringVar(&a.stateURL, "state-url", "", "the state is what a GET of `URL` returns, as JSON")
	f.Func("proxy", "the state is the requests to an API, which a proxy passes on to a URL: `VARIABLE=URL` gives the "+
		"address of the proxy to the server in that environment variable; https://HOST=URL, or https://HOST alone, "+
		"intercepts what the server sends to that host. In place of URL, JSON is the answer to each request, and "+
		"no API is needed. May be repeated", a.addProxy)
	f.Func("reads", "requests to --proxy that only read, such as `'POST /search*'`; may be repeated", func(s string) error {
		a.reads = append(a.reads, s)
		_, err := audit.NewProxy("http://localhost", s)
		return err
	})
	f.StringVar(&a.reset, "reset", "", "a shell `COMMAND` that brings what the server stores to its first state; "+
		"it runs before each world, while the COMMAND of the server is ended")
	f.Func("example", "the arguments of a call that succeeds: `TOOL=JSON`; may be repeated", func(s string) error {
		tool, args, _ := strings.Cut(s, "=")
		o.Example[tool] = json.RawMessage(args)
		return given(tool != "" && json.Valid(o.Example[tool]))
	})
	f.Func("key", "the argument that is the idempotency key, if its name does not tell: `TOOL=/POINTER`; may be repeated",
		func(s string) error {
			tool, pointer, _ := strings.Cut(s, "=")
			o.Keys[tool] = pointer
			return given(tool != "" && pointer != "")
		})
	f.StringVar(&a.examples, "examples", "", "arguments by tool: a JSON object in `FILE`")
	f.StringVar(&a.session, "session", "", "arguments of the first call of each tool that succeeded, in the session "+
		"in `FILE`, such as shakedown import makes of a trace")
	for form, usage := range map[string]string{"markdown": "the result as a comment", "html": "a page with all evidence",
		"junit": "JUnit XML", "json": "the result as JSON", "file": "the run file"} {
		a.files[form] = f.String(form, "", "write "+usage+", to `FILE`")
	}
}

func (a *auditing) addProxy(s string) error {
	name, to, mapped := strings.Cut(s, "=")
	p := proxied{name: name, to: to}
	if host, is := strings.CutPrefix(name, "https://"); is {
		p.name, p.host = host, host
		if !mapped {
			p.to = name
		}
	}
	var err error
	if json.Valid([]byte(to)) {
		p.answer = to
	} else {
		_, err = audit.NewProxy(p.to)
	}
	a.proxies = append(a.proxies, p)
	return errors.Join(err, given(p.name != "" && !strings.ContainsAny(p.name, "/:@")))
}

func given(is bool) error {
	if !is {
		return errors.New("missing")
	}
	return nil
}

// secret returns the value of a variable, which no output repeats.
func (a *auditing) secret(variable string) string {
	value := os.Getenv(variable)
	a.options.Secrets = append(a.options.Secrets, value)
	return value
}

// known takes out the secrets that are known. What the audit writes has no others: it has redacted its evidence.
func (a *auditing) known() *redact.Redactor { return redact.New(a.options.Secrets, 0) }

// read reads what was typed, and the files that are named there.
func (a *auditing) read(args []string) error {
	command, err := cmdline.Parse(fields, a.flags, args, 0, math.MaxInt)
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	wrong := fields.List()
	wrong.Add(fielderror.Apart(err)...)
	a.command = command
	demand := func(ok bool, flag, found, allowed string) { wrong.Demand(ok, flag, fielderror.Found(found), allowed) }
	demand((len(command) == 0) != (a.url == ""), "COMMAND and --url", "both, or neither", "one of them")
	u, err := url.Parse(a.url)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	wrong.Demand(a.url == "" || web, "--url", redact.Address(a.url), "http or https, host and path")
	demand(a.url != "" || a.token == "", "--token", "without --url", "with --url")
	demand(a.url == "" || len(a.proxies) == 0, "--proxy", "with --url", "with a command, which is told the address")
	states := 0
	a.flags.Visit(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "state-") || f.Name == "proxy" {
			states++
		}
	})
	demand(states < 2, "state", "given twice", "one of --state-tool, --state-resource, --state-url and --proxy")
	taken := map[string]bool{}
	for _, path := range []string{a.examples, a.session} {
		taken[cmdline.Absolute(path)] = true
	}
	for _, form := range slices.Sorted(maps.Keys(a.files)) {
		cmdline.Writable(wrong, *a.files[form], taken)
	}
	a.readExamples(wrong)
	for _, entry := range os.Environ() { // the server has them too
		name, value, _ := strings.Cut(entry, "=")
		const short = 8 // may be a part of any word
		if len(value) >= short && redact.New(nil, redact.Patterns).Text(name+"="+value) != entry {
			a.options.Secrets = append(a.options.Secrets, value)
		}
	}
	return wrong.Err()
}

// readExamples reads the files of --examples and --session. What was typed stays.
func (a *auditing) readExamples(wrong *fielderror.List) {
	if a.examples != "" {
		var all map[string]json.RawMessage
		doc, err := os.ReadFile(a.examples)
		if err == nil {
			err = json.Unmarshal(doc, &all)
		}
		if err != nil {
			wrong.Because("--examples", a.examples, err, "a JSON object with the arguments by tool")
		}
		for tool, args := range all {
			if a.options.Example[tool] == nil {
				a.options.Example[tool] = args
			}
		}
	}
	if a.session != "" {
		s, err := replay.ReadFile(a.session)
		if err != nil {
			wrong.Because("--session", a.session, err, "a session, as shakedown import makes of a trace")
			return
		}
		a.recorded = s.Calls
	}
}

// ask asks the server what it claims, and takes the first recorded call of each of its tools that succeeded, where
// nothing else gives arguments: a session may have calls of other tools.
func (a *auditing) ask(ctx context.Context, first *target) error {
	tools, err := first.Tools(ctx)
	if err != nil {
		return err
	}
	for i := range a.recorded {
		c := &a.recorded[i]
		name := c.Tool
		if parts := strings.SplitN(name, "__", 3); len(parts) == 3 && parts[0] == "mcp" { // mcp__SERVER__TOOL
			name = parts[2]
		}
		known := slices.ContainsFunc(tools, func(t chaos.Tool) bool { return t.Name == name })
		whole := len(c.Args) > 0 && !c.Truncated
		if known && whole && c.Type != findings.Model && c.Failure() == nil && a.options.Example[name] == nil {
			a.options.Example[name] = c.Args
		}
	}
	a.options.Claims, err = client.Claims(ctx, first.session.Load())
	return err
}

// run makes the audit and shows it.
func (a *auditing) run(ctx context.Context, args []string, out io.Writer) (status int, err error) {
	if err := a.read(args); err != nil {
		return 0, err
	}
	first, err := a.open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, first.close()) }()
	o := &a.options
	asking, cancel := context.WithTimeout(ctx, beginning)
	defer cancel()
	if err := a.ask(asking, first); err != nil {
		return 0, err
	}
	o.StateNote = a.stateNote()
	if a.url == "" && a.reset == "" && a.stateURL == "" {
		if err := first.close(); err != nil {
			return 0, err
		}
		o.NewWorld = func(ctx context.Context) (*audit.World, error) {
			t, err := a.open(ctx)
			if err != nil {
				return nil, err
			}
			return t.world(), nil
		}
	} else if o.World = first.world(); a.reset != "" {
		o.Reset = first.reset
	}
	if named := len(o.Allow) > 0 || o.Sandbox; a.dry || !named {
		l, err := audit.Plan(ctx, o)
		if err != nil {
			return 0, err
		}
		fmt.Fprint(out, a.known().Text(listing(l)))
		if !named && !a.dry {
			return 2, errors.New("shakedown-mcp: nothing was called: name tools by --allow, or say --sandbox")
		}
		return 0, nil
	}
	r, err := audit.Run(ctx, o, &contract.RunOptions{File: *a.files["file"]})
	if r == nil {
		return 0, err
	}
	if errors.Is(err, context.Canceled) {
		err = nil // the result says so
	}
	status = report.ExitCode(&contract.Report{Score: scoring.ContractScore{Verdict: r.Verdict()}}, nil, 0)
	if wrong := errors.Join(a.show(out, r), err); wrong != nil {
		return max(status, report.ExitCode(nil, wrong, 0)), wrong
	}
	return status, nil
}

// show prints the result and writes the files.
func (a *auditing) show(out io.Writer, r *audit.Result) error {
	var shown strings.Builder
	errs := []error{r.Text(&shown)}
	_, err := io.WriteString(out, a.known().Text(shown.String()))
	errs = append(errs, err)
	const comment = 65536
	for form, write := range map[string]func(io.Writer) error{
		"markdown": func(w io.Writer) error {
			_, err := io.WriteString(w, a.known().Text(string(r.Markdown(comment))))
			return err
		},
		"html":  func(w io.Writer) error { return r.HTML(w) },
		"junit": func(w io.Writer) error { return report.JUnit(w, r.Report, nil) },
		"json": func(w io.Writer) error {
			doc, err := json.MarshalIndent(r, "", "  ")
			if err == nil {
				_, err = w.Write(append(a.known().JSON(doc, false), '\n'))
			}
			return err
		},
	} {
		if path := *a.files[form]; path != "" {
			errs = append(errs, wholefile.WriteFunc(path, write))
		}
	}
	return errors.Join(errs...)
}

// stateNote says what the state is, and what it does not show.
func (a *auditing) stateNote() string {
	switch {
	case a.options.StateTool != "":
		return "The state is the result of the tool " + a.options.StateTool + ". What it leaves out is not known."
	case a.stateResource != "":
		return "The state is the resource " + a.stateResource + ". What it leaves out is not known."
	case a.stateURL != "":
		return "The state is what a GET of " + redact.Address(a.stateURL) + " returns. What it leaves out is not known."
	case len(a.proxies) == 0:
		return "There is no state, so nothing is known to be safe: see --state-tool, --state-resource, --state-url and --proxy."
	}
	var apis []string
	for _, p := range a.proxies {
		name := p.name
		if p.answer != "" {
			name += " (there is no API: --proxy gives each the same answer, whatever was done before)"
		}
		apis = append(apis, name)
	}
	return "The state is the requests to " + strings.Join(apis, " and ") + " that may have done work: all but reads and those " +
		"that were refused. Requests with one idempotency key are one, since an API that honours keys does their work once; " +
		"whether this one does is not known. Nor is it known whether it tells a repeated request by something else, and then " +
		"does its work once; nor what does not pass the proxy."
}

// listing is what an audit would do, for a person.
func listing(l *audit.Listing) string {
	var b strings.Builder
	for i := range l.Tools {
		t := &l.Tools[i]
		claims, _ := json.Marshal(t.Claims) //nolint:errcheck // booleans
		fmt.Fprintf(&b, "%s\n  claims     %s\n  arguments  %s", t.Tool, claims, t.Args)
		if t.Made {
			b.WriteString(" (made from its input schema)")
		}
		if t.Key != "" {
			b.WriteString("\n  key        " + t.Key)
		}
		if t.Refused != "" {
			fmt.Fprintf(&b, "\n  not called: %s\n", t.Refused)
			continue
		}
		fmt.Fprintf(&b, "\n  called in  %s: %s\n", text.Plural(len(t.Treatments), "treatment"), strings.Join(t.Treatments, ", "))
	}
	return b.String()
}
