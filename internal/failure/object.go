package failure

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Report returns what a result says of its failure: its text, or that of the member that has
// it, and the HTTP status; 0: it names none.
func Report(doc json.RawMessage) (text string, status int) {
	d, ok := jsonedit.Parse(doc)
	if !ok {
		return string(doc), 0
	}
	r := &reader{d}
	return cmp.Or(r.said(0, 3), string(doc)), r.status(0)
}

// said returns the text of a value: of a message or of what holds one.
func (r *reader) said(at, depth int) string {
	switch kind := r.Kind(at); {
	case kind == jsonedit.String:
		return r.String(at)
	case depth == 0:
	case kind == jsonedit.Array:
		var texts []string
		for _, e := range r.Children(at) {
			if s := r.said(e, depth-1); s != "" {
				texts = append(texts, s)
			}
		}
		return strings.Join(texts, "\n")
	case kind == jsonedit.Object:
		for _, name := range [...]string{"error", "errors", "errorMessage", "error_message", "message", "detail",
			"text",
			"content", "stderr", "reason", "title", "exception"} {
			if m, ok := r.Member(at, name); ok {
				if s := r.said(m, depth-1); s != "" {
					return s
				}
			}
		}
	}
	return ""
}

func (r *reader) status(at int) int {
	if r.Kind(at) != jsonedit.Object {
		return 0
	}
	for _, name := range [...]string{"status", "statusCode", "status_code", "code"} {
		if m, ok := r.Member(at, name); ok {
			if n, err := strconv.Atoi(string(r.Raw(m))); err == nil && n >= 400 && n <= 599 {
				return n
			}
		}
	}
	if m, ok := r.Member(at, "error"); ok {
		return r.status(m)
	}
	return 0
}

// A reader reads a result that is JSON.
type reader struct{ *jsonedit.Doc }

func (r *reader) value(at int) Outcome {
	switch r.Kind(at) {
	case jsonedit.String:
		return Text(r.String(at))
	case jsonedit.Object:
		return r.object(at)
	case jsonedit.Array:
		return r.list(at)
	}
	return Done
}

// list reads the parts of a message as the text that they are. Of other lists, an element
// that tells of a failure leaves the list in doubt.
func (r *reader) list(at int) Outcome {
	outcome, parts := Done, true
	elements := r.Children(at)
	var texts []string
	for _, e := range elements {
		text, is := r.text(e, "text")
		if kind, _ := r.text(e, "type"); !is || kind != "" && !strings.HasSuffix(kind, "text") {
			parts = false
		}
		texts = append(texts, text)
	}
	if parts && len(elements) > 0 {
		return Text(strings.Join(texts, "\n"))
	}
	for _, e := range elements {
		if r.value(e) != Done {
			outcome = Unknown
		}
	}
	return outcome
}

// memberNames are the names of members, as [plain] has them, by what they say.
type memberNames struct {
	signs    map[string]bool // of themselves that a call failed, if they say anything
	verdicts map[string]bool // in a word how it ended, in a report
	badEnds  map[string]bool // such words
	codes    map[string]bool // words of gRPC and of its kin for a failure
	nothings map[string]bool // texts of signs that say that there is no failure
	// reports are those of a report about a call; what has others too is data, of which a
	// status or a code may be one.
	reports map[string]bool
	spoken  map[string]bool // in a text something about the call
}

var names = sync.OnceValue(makeNames)

func makeNames() *memberNames {
	return &memberNames{
		signs:    set("error errors err failure iserror haserror exception errormessage errorcode faultstring fault faultcode"),
		verdicts: set("status result outcome state"),
		badEnds: set("error failed failure fail timeout timedout aborted rejected denied unavailable " +
			"exception errored crashed throttled notfound unauthorized forbidden ko"),
		codes: set(`invalidargument deadlineexceeded notfound alreadyexists permissiondenied unauthenticated
			resourceexhausted failedprecondition aborted outofrange unimplemented internal unavailable dataloss`),
		nothings: set("none no null nil ok success n/a na false undefined noerror noerrors"),
		reports: set(`status statuscode code message msg error errors errorcode errormessage errortype detail details
			title type instance reason description result outcome state success ok output stdout stderr metadata
			exitcode returncode retryafter requestid traceid trace timestamp path name errno syscall cause stack hint
			body data response httpstatus failed timedout`),
		spoken: set(`message msg detail details reason title text content output result stderr description body errors
			cause hint`),
	}
}

func (r *reader) object(at int) Outcome {
	about, doubt := true, false
	for _, m := range r.Children(at) {
		about = about && names().reports[plain(r.Name(m))]
	}
	for _, m := range r.Children(at) {
		name := plain(r.Name(m))
		if r.fails(name, m) {
			return Failed
		}
		switch {
		case r.failsInReport(at, name, m):
			if about {
				return Failed
			}
			doubt = true
		case names().spoken[name]:
			switch outcome := r.value(m); {
			case outcome == Failed && (about || name == "content"):
				return Failed
			case outcome != Done:
				doubt = true
			}
		case (name == "data" || name == "response") && r.Kind(m) == jsonedit.Object:
			doubt = doubt || r.object(m) != Done
		case name == "metadata" && r.Kind(m) == jsonedit.Object:
			if r.object(m) == Failed {
				return Failed
			}
		}
	}
	if _, reasoned := r.text(at, "reason"); doubt || reasoned && slices.ContainsFunc(r.Children(at), r.isFalse) {
		return Unknown // {"refunded": false, "reason": "too late"}
	}
	return Done
}

func (r *reader) isFalse(at int) bool { return string(r.Raw(at)) == "false" }

// nothing reports whether the value of a sign says that there is none.
func (r *reader) nothing(at int) bool {
	switch r.Kind(at) {
	case jsonedit.String:
		text := strings.Trim(plain(r.String(at)), "0")
		return text == "" || names().nothings[text]
	case jsonedit.Array, jsonedit.Object:
		return !slices.ContainsFunc(r.Children(at), func(m int) bool { return !r.nothing(m) })
	}
	raw := string(r.Raw(at))
	number, err := strconv.ParseFloat(raw, 64)
	return raw == "null" || raw == "false" || err == nil && number == 0
}

// fails reports whether a member says alone that the call failed.
func (r *reader) fails(name string, at int) bool {
	raw := string(r.Raw(at))
	switch {
	case names().signs[name]:
		return !r.nothing(at)
	case name == "ok" || name == "success" || name == "issuccess" || name == "succeeded":
		return raw == "false" || raw == "0" || strings.EqualFold(raw, `"false"`)
	case name == "exitcode" || name == "returncode":
		n, err := strconv.Atoi(raw)
		return err == nil && n != 0
	}
	return false
}

// failsInReport reports whether a member says so in an object that reports about a call.
func (r *reader) failsInReport(object int, name string, at int) bool {
	raw := string(r.Raw(at))
	number, err := strconv.Atoi(strings.Trim(raw, `"`))
	text := ""
	if r.Kind(at) == jsonedit.String {
		text = r.String(at)
	}
	switch name {
	case "failed", "timedout":
		return raw == "true"
	case "status", "statuscode", "httpstatus", "code":
		if err == nil {
			_, explained := r.text(object, "message")
			grpc := number > 0 && number <= 16 && explained
			return number >= 400 && number <= 599 || name == "code" && (number < -32000 || grpc)
		}
		if name == "code" {
			errno := len(text) > 3 && text[0] == 'E' && text == strings.ToUpper(text)
			_, explained := r.text(object, "message")
			return explained && names().codes[plain(text)] || errno && !strings.ContainsAny(text, "0123456789")
		}
		return names().badEnds[plain(text)]
	case "type", "name":
		small := plain(text)
		return strings.HasSuffix(small, "error") || strings.HasSuffix(small, "exception")
	}
	return names().verdicts[name] && names().badEnds[plain(text)]
}

// text returns the text of a member of an object.
func (r *reader) text(object int, name string) (string, bool) {
	if r.Kind(object) != jsonedit.Object {
		return "", false
	}
	m, ok := r.Member(object, name)
	if !ok || r.Kind(m) != jsonedit.String {
		return "", false
	}
	return r.String(m), true
}

// plain is a name in small letters without what separates its words.
func plain(name string) string { return unseparated.Replace(strings.ToLower(name)) }

var unseparated = strings.NewReplacer("_", "", "-", "", " ", "")
