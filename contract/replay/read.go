package replay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

const (
	format  = "shakedown/session"
	version = 1
)

type document struct {
	Format  string `json:"format" bounds:"enum=shakedown/session" doc:"what the file is"`
	Version int    `json:"version" bounds:"min=1,max=1" allowed:"1, the version that this release reads" doc:"of the format"`
	Session
}

// Read reads a session from JSON. It is strict: an unknown member, a wrong type, a
// value that is not allowed, a member that occurs twice or anything after the document
// is an error. The error joins every problem, each a [*FieldError] with its line, its
// column and its place as a JSON pointer. A document has at most 64 MiB, 100,000 calls
// and 64 levels.
func Read(data []byte) (*Session, error) {
	r := newReader()
	n := strictjson.Parse(data, maxBytes, &r.Problems)
	if n == nil {
		return nil, r.Err()
	}
	var doc document
	if !r.Bind(n, reflect.ValueOf(&doc).Elem(), strictjson.Tag{}) {
		return nil, r.Err()
	}
	doc.check(func(place string, value any, allowed string) {
		if r.Full() {
			return
		}
		at, node := strictjson.Find(n, place)
		r.AddError(fields.Wrong(at, value, allowed).At(r.Place(node)))
	})
	if err := r.Err(); err != nil {
		return nil, err
	}
	return &doc.Session, nil
}

// A reader reads the types of this package with the strict reader.
type reader struct{ strictjson.Reader }

func newReader() *reader {
	r := &reader{}
	r.Of = fields
	r.Special = map[reflect.Type]strictjson.Special{
		reflect.TypeFor[time.Time](): {Shape: `a time such as "2026-05-04T03:02:01Z"`, Bind: r.time},
		// the durations of a plan
		reflect.TypeFor[planjson.Duration](): {Shape: `a duration such as "1.5s"`, Bind: r.duration},
	}
	return r
}

func (r *reader) time(n *strictjson.Node, v reflect.Value) bool {
	const allowed = `a time such as "2026-05-04T03:02:01Z" (RFC 3339)`
	text, isText := n.Text()
	if !isText {
		return r.Wrong(n, allowed)
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return r.Refuse(n, allowed, nil)
	}
	v.Set(reflect.ValueOf(t))
	return true
}

func (r *reader) duration(n *strictjson.Node, v reflect.Value) bool {
	var d time.Duration
	fits := r.Bind(n, reflect.ValueOf(&d).Elem(), strictjson.Tag{})
	v.SetInt(int64(d))
	return fits
}

// ReadFile reads a session from a file, as [Read] does. Its problems name the file.
func ReadFile(path string) (*Session, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	return readFrom(path, f)
}

// readFrom reads a session from a file, closes it, and names it in each problem. It reads
// no more than tells that a file is too large.
func readFrom(path string, f *os.File) (*Session, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("replay: %s: %w", path, err)
	}
	s, err := Read(data)
	if err != nil {
		list := fields.List()
		list.Each(path, err)
		return nil, list.Err()
	}
	return s, nil
}

// ReadDir reads the sessions of a folder: all files whose names end in .json and do
// not begin with a dot, in the order of their names. The error joins the problems of
// all files; the sessions of the others are returned beside it. Folders within the
// folder are not read, and neither is a link that leaves it, which is a problem.
func ReadDir(dir string) ([]*Session, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	var sessions []*Session
	var problems []error
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := root.Open(e.Name())
		if err != nil {
			problems = append(problems, fmt.Errorf("replay: %s: %w", path, err))
			continue
		}
		s, err := readFrom(path, f)
		if err != nil {
			problems = append(problems, fielderror.Apart(err)...)
			continue
		}
		sessions = append(sessions, s)
	}
	return sessions, errors.Join(problems...)
}
