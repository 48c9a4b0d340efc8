package trace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

const (
	linesFormat  = "shakedown/samples"
	linesVersion = 1
	// maxLine bounds a line, and so the memory for a file without line ends.
	maxLine = 64 << 10
)

// header is the first line.
type header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Epoch   time.Time `json:"epoch"`
}

// WriteLines writes the list as JSON lines. [ReadLines] reads it back
// unchanged, without the notes. A sample that ReadLines would refuse is an
// [*FieldError] with its line; the lines before it have been written by then. Other
// errors are those of the writer.
func (r *SampleList) WriteLines(w io.Writer) error {
	b := bufio.NewWriter(w)
	if !writableTime(r.epoch().UTC()) {
		return fields.Wrong("epoch", r.Epoch.String(), "a time that RFC 3339 can write: years 0 to 9999").At(1, 0)
	}
	if err := writeLine(b, header{linesFormat, linesVersion, r.epoch().UTC().Round(0)}); err != nil {
		return err
	}
	for i := range r.Samples {
		s := &r.Samples[i]
		if err := writable(s); err != nil {
			return errors.Join(fields.Because("sample", s.Target, err, "").At(i+2, 0), b.Flush())
		}
		if err := writeLine(b, s); err != nil {
			return err
		}
	}
	return b.Flush()
}

func writableTime(t time.Time) bool { return t.Year() >= 0 && t.Year() <= 9999 }

func writeLine(b *bufio.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(text) > maxLine {
		return fmt.Errorf("trace: a sample takes %d bytes; allowed: at most %d", len(text), maxLine)
	}
	_, err = b.Write(append(text, '\n'))
	return err
}

// writable returns an error for a sample that would not be read back unchanged.
func writable(s *timeline.Sample) error {
	for _, text := range []string{s.Caller, s.Target, s.Class, s.Lane, s.Fault, s.Rule} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%q is not UTF-8", text)
		}
	}
	return s.Validate()
}

// ReadOptions bound the input of [ReadLines] and [ReadOTLP]. The zero value, and
// nil, give the defaults.
type ReadOptions struct {
	_ struct{}
	// MaxBytes is the largest length of an input, in bytes; 0: 64 MiB.
	MaxBytes int64
	// MaxSamples is the largest number of samples or spans; 0: 1,048,576.
	MaxSamples int
	// ClassBy is, for spans, the key of the attribute with the class, first of the
	// span, then of its resource. "": shakedown.class.
	ClassBy string
	// MaxGap is, for spans, the longest pause within one list; 0: 12 hours. If
	// a pause is longer, only the largest part is kept, and notes say how many
	// spans of which service were left out. Otherwise one clock that is years
	// wrong would make the bins years long.
	MaxGap time.Duration
}

const (
	defaultMaxBytes   = 64 << 20
	largestMaxBytes   = 1 << 40
	defaultMaxSamples = 1 << 20
	defaultClassBy    = "shakedown.class"
	defaultMaxGap     = 12 * time.Hour
)

func (o *ReadOptions) withDefaults() (ReadOptions, error) {
	var c ReadOptions
	if o != nil {
		c = *o
	}
	wrong := fields.ListUpTo(maxReported)
	if c.MaxBytes < 0 || c.MaxBytes > largestMaxBytes {
		wrong.Wrong("maxBytes", c.MaxBytes, "at most 1 TiB, or 0 for 64 MiB")
	}
	if c.MaxSamples < 0 {
		wrong.Wrong("maxSamples", c.MaxSamples, "a number of samples, or 0 for 1048576")
	}
	if c.MaxGap < 0 {
		wrong.Wrong("maxGap", c.MaxGap, "a time above 0, or 0 for 12 hours")
	}
	c.MaxGap = cmp.Or(c.MaxGap, defaultMaxGap)
	c.MaxBytes = cmp.Or(c.MaxBytes, defaultMaxBytes)
	c.MaxSamples = cmp.Or(c.MaxSamples, defaultMaxSamples)
	c.ClassBy = cmp.Or(c.ClassBy, defaultClassBy)
	return c, wrong.Err()
}

// ReadLines reads what [SampleList.WriteLines] writes: JSON lines, the first one a header
//
//	{"format":"shakedown/samples","version":1,"epoch":"2026-05-04T03:02:01Z"}
//
// and every other a sample with the members of [timeline.Sample]: caller, target,
// class, lane, key (a decimal string), type, startNs, endNs (integers), failed,
// attempt, final, fault, rule. Only target, startNs and endNs are required.
//
// Reading is strict: unknown, repeated and misspelt members, null, empty lines, and
// samples that a run would refuse are errors. All are joined, the first 16 as an
// [*FieldError] with its line. With an error the list is nil.
func ReadLines(r io.Reader, o *ReadOptions) (*SampleList, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := lineReader{wrong: fields.ListUpTo(maxReported), texts: make(map[string]string)}
	d.reader.Special = map[reflect.Type]strictjson.Special{
		reflect.TypeFor[time.Duration](): {Shape: nanoseconds, Bind: d.duration},
	}
	in := &io.LimitedReader{R: r, N: options.MaxBytes + 1}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine+2)
	for lines.Scan() {
		d.line++
		switch {
		case in.N <= 0:
			d.refuse("input", fielderror.Found("too long"), "at most MaxBytes bytes in all")
		case d.line == 1:
			d.header(lines.Bytes())
		case len(d.found.Samples) >= options.MaxSamples:
			d.refuse("input", fielderror.Found("too long"), fmt.Sprintf("at most %d samples", options.MaxSamples))
		default:
			d.sample(lines.Bytes())
			continue
		}
		if d.wrong.Count() > 0 {
			break // what follows is meaningless
		}
	}
	switch {
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		d.line++
		d.refuse("line", fielderror.Found("too long"), fmt.Sprintf("at most %d bytes", maxLine))
	case lines.Err() != nil:
		return nil, lines.Err()
	case d.line == 0:
		d.line = 1
		d.refuse("header", nil, headerAllowed)
	}
	if err := d.wrong.Err(); err != nil {
		return nil, err
	}
	return &d.found, nil
}

const headerAllowed = `a first line {"format":"shakedown/samples","version":1,"epoch":"…"} with a time in RFC 3339`

type lineReader struct {
	reader strictjson.Reader
	line   int
	texts  map[string]string // each text once, however often it occurs
	wrong  *fielderror.List
	found  SampleList
}

func (d *lineReader) refuse(field string, value any, allowed string) {
	d.wrong.Add(fields.Wrong(field, value, allowed).At(d.line, 0))
}

// header reads the first line: without it the epoch of the samples is unknown.
func (d *lineReader) header(text []byte) {
	var h struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
		Epoch   string `json:"epoch"`
	}
	if !d.bind(text, &h) {
		return
	}
	epoch, err := time.Parse(time.RFC3339Nano, h.Epoch)
	switch epoch = epoch.UTC(); {
	case h.Format != linesFormat || h.Version != linesVersion:
		d.refuse("header", string(text), headerAllowed)
	case err != nil || !writableTime(epoch):
		d.refuse("epoch", h.Epoch, "a time in RFC 3339")
	}
	d.found.Epoch = epoch
}

func (d *lineReader) sample(text []byte) {
	var s timeline.Sample
	if !d.bind(text, &s) {
		return
	}
	if err := s.Validate(); err != nil {
		d.wrong.Add(fields.Because("sample", s.Target, err, "").At(d.line, 0))
		return
	}
	for _, name := range []*string{&s.Caller, &s.Target, &s.Class, &s.Lane, (*string)(&s.Type), &s.Fault, &s.Rule} {
		if known, ok := d.texts[*name]; ok {
			*name = known
		} else {
			d.texts[*name] = *name
		}
	}
	d.found.Samples = append(d.found.Samples, s)
}

// bind reads a line that is an object into a struct, and reports whether it fitted.
func (d *lineReader) bind(line []byte, into any) bool {
	d.reader.Problems = strictjson.Problems{As: func(p *strictjson.Problem) error {
		wrong := fields.Because(strings.TrimPrefix(p.Pointer, "/"), nil, p.Err, p.Allowed)
		if p.Reason != strictjson.Missing && p.Reason != strictjson.Syntax {
			wrong.Value = fielderror.Found(strings.TrimSpace(string(p.Reason) + " " + p.Value))
		}
		return wrong.At(d.line, 0)
	}}
	if n := strictjson.Parse(line, maxLine, &d.reader.Problems); n != nil {
		d.reader.Bind(n, "", reflect.ValueOf(into).Elem(), strictjson.Tag{})
	}
	list, _ := d.reader.List()
	d.wrong.Add(list...)
	return list == nil
}

// duration reads a time of a sample.
func (d *lineReader) duration(n *strictjson.Node, at string, v reflect.Value) bool {
	ns, err := strconv.ParseInt(n.Text, 10, 64)
	if err != nil || n.Kind != '0' {
		return d.reader.Wrong(n, at, nanoseconds)
	}
	v.SetInt(ns)
	return true
}

const nanoseconds = "an integer of nanoseconds since the epoch"
