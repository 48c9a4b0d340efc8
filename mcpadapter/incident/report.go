package incident

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MinReport and MaxReport are the least and the largest size of a valid report,
// in bytes.
const (
	MinReport = 100
	MaxReport = 1 << 20
)

// readReport reads the report in a workspace; its error is for failureReason. It follows no link out of the
// workspace and reads no more than MaxReport bytes.
func readReport(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.New("report missing: the workspace is gone")
	}
	defer root.Close()
	text, err := readRegular(root, ReportFile, MaxReport)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("report missing: " + ReportFile)
	case err != nil:
		return nil, fmt.Errorf("report unreadable: %s: %v", ReportFile, bare(err))
	case substance(text) < MinReport:
		return nil, fmt.Errorf("report too small: %d bytes, at least %d are needed", substance(text), MinReport)
	case !utf8.Valid(text):
		return nil, errors.New("report unreadable: not text in UTF-8")
	}
	return text, nil
}

// substance is the size without padding: of the space at both ends, only the
// line break that ends a text counts.
func substance(text []byte) int {
	n := len(bytes.TrimSpace(text))
	if bytes.HasSuffix(text, []byte("\n")) {
		n++
	}
	return n
}

// readRegular reads a file of at most so many bytes. It does not wait for the writer of a named pipe.
func readRegular(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openAtOnce, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is a %s, not a regular file", kindOf(info.Mode()))
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it has more than the %d bytes that are read", most)
	}
	return text, err
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	}
	return "special file"
}

// bare removes the path from a file system error: the readers of reasons know
// the workspace, and must not see paths of this machine.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// A Finding is what a report says under the usual headings; a heading that is
// missing leaves its field empty.
type Finding struct {
	RootCause  string // the text under "## Root Cause"; may be empty
	Confidence string // such as "high" or "0.8"; may be empty
}

// ReadFinding reads the root cause and the confidence from a report: the text
// under the heading "## Root Cause" up to the next heading, and a line
// "Confidence: …" or the text under "## Confidence". Letter case is ignored.
func ReadFinding(report []byte) Finding {
	sections := sections(string(report))
	confidence := firstLine(sections["confidence"])
	if m := confidenceLine(string(report)); m != "" {
		confidence = m
	}
	return Finding{RootCause: sections["root cause"], Confidence: confidence}
}

// sections returns the texts under the headings of level 2, by name in lower
// case. The first of a name counts; text fenced as code has no headings.
func sections(text string) map[string]string {
	found := make(map[string]string)
	name, fenced := "", false
	var body []string
	keep := func() {
		if _, had := found[name]; name != "" && !had {
			found[name] = strings.TrimSpace(strings.Join(body, "\n"))
		}
		name, body = "", nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		heading, is := strings.CutPrefix(line, "## ")
		if top := strings.HasPrefix(line, "# "); fenced || !is && !top {
			body = append(body, line)
			continue
		}
		keep()
		name = strings.ToLower(strings.Trim(heading, " #*:"))
		if !is {
			name = ""
		}
	}
	keep()
	return found
}

func confidenceLine(text string) string {
	m := regexp.MustCompile(`(?im)^[\s>*_-]*confidence[*_]*\s*:[*_\s]*(\S.*?)[*_\s]*$`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}
