package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

// A judged is the file of one judgement.
type judged struct {
	Judge   string `json:"judge"`
	Version string `json:"version,omitempty"`
	Decide  string `json:"decide"`
	Ruling  string `json:"ruling"`
	Reason  string `json:"reason,omitempty"`
	Dissent int    `json:"dissent,omitempty" min:"0"`
}

// Cached returns a judge that keeps the judgements of another in a folder, and does not
// ask again what is there: the same sentence about the same prompt, answer, words of tools
// and state, by the judge of that name and version. name and version must be those of its
// judgements; a judgement by another is an error. The folder is made at the first
// judgement.
//
// A file has the sentence, the ruling and the reason, with secrets redacted; of the
// question there is a hash alone. Only held, broken and unsure are kept: no failure, and
// nothing after a malformed reply. A file that cannot be read, or is not of the question,
// is an error: remove it. So is a judgement that cannot be written. Who asks what is being
// asked waits for the judgement. Several processes may use one folder; they do not wait for
// each other.
//
// Errors: [*FieldError] for an empty folder or name, and for a judge that is nil.
func Cached(dir, name, version string, judge invariant.Judge) (invariant.Judge, error) {
	p := fields.List()
	p.Demand(dir != "", "dir", fielderror.Found("empty"), "the path of a folder")
	p.Demand(strings.TrimSpace(name) != "", "name", name, "the name of the judge")
	p.Demand(judge != nil, "judge", fielderror.Found("nil"), "a judge")
	if err := p.Err(); err != nil {
		return nil, err
	}
	c := &cache{dir: dir, name: name, version: version, judge: judge, clean: redact.New(nil, redact.Patterns)}
	return c.judgement, nil
}

// A cache is a judge made by Cached.
type cache struct {
	dir, name, version string
	judge              invariant.Judge
	clean              *redact.Redactor
	asking             singleflight.Group // by file
}

// judgement asks once for all that ask the same at the same time: the others read what the first
// has kept, and ask anew if it has kept nothing. What the first does is on a goroutine of its own,
// where a judge may panic or end it, and which the first waits for.
func (c *cache) judgement(ctx context.Context, q invariant.Question) (invariant.Judgement, error) {
	none := invariant.Judgement{Judge: c.name, Version: c.version}
	path, err := cachePath(c.dir, c.name, c.version, q)
	if err != nil {
		return none, err
	}
	for {
		var first atomic.Bool
		ended := c.asking.DoChan(path, func() (any, error) {
			first.Store(true)
			j := none
			err := <-usercode.Go(nil, func() (err error) {
				j, err = c.keptOrRuled(ctx, path, q)
				return err
			})
			return j, err
		})
		done := ctx.Done()
		for waiting := true; waiting; {
			select {
			case r := <-ended:
				if first.Load() {
					return r.Val.(invariant.Judgement), r.Err
				}
				waiting = false
			case <-done:
				if done = nil; !first.Load() {
					return none, fmt.Errorf("judge: another asks the same question: %w", ctx.Err())
				}
			}
		}
	}
}

// keptOrRuled reads the judgement that was kept, or asks the judge and keeps what it rules.
func (c *cache) keptOrRuled(ctx context.Context, path string, q invariant.Question) (invariant.Judgement, error) {
	if j, err := readJudged(path, c.name, c.version, q.Decide); !errors.Is(err, os.ErrNotExist) {
		return j, err
	}
	j, err := c.judge(ctx, q)
	if err == nil && (j.Judge != c.name || j.Version != c.version) {
		err = fields.Wrong("judge", j.Judge+" "+j.Version,
			fmt.Sprintf("judgements of %q, version %q", c.name, c.version))
	}
	if err != nil || j.Malformed > 0 || j.Ruling > invariant.Broken {
		return j, err
	}
	doc, err := json.MarshalIndent(judged{c.name, c.version, q.Decide, j.Ruling.String(), c.clean.Text(j.Reason),
		j.Dissent}, "", "  ")
	if err == nil {
		err = os.MkdirAll(c.dir, 0o755)
	}
	if err == nil {
		err = wholefile.Write(path, append(doc, '\n'))
	}
	if err != nil {
		err = fmt.Errorf("judge: the judgement cannot be kept: %w", err)
	}
	return j, err
}

// cachePath names the file of a question.
func cachePath(dir, name, version string, q invariant.Question) (string, error) {
	doc, err := json.Marshal([]any{name, version, q})
	if err != nil {
		return "", fmt.Errorf("judge: the question has no JSON: %w", err)
	}
	sum := sha256.Sum256(doc)
	return filepath.Join(dir, hex.EncodeToString(sum[:])+".json"), nil
}

// readJudged reads a judgement that was kept.
func readJudged(path, name, version, decide string) (invariant.Judgement, error) {
	j := invariant.Judgement{Judge: name, Version: version}
	doc, err := os.ReadFile(path)
	if err != nil {
		return j, fmt.Errorf("judge: a judgement that was kept cannot be read: %w", err)
	}
	var kept judged
	p := fields.List()
	if err := decode(path, doc, &kept); err != nil {
		return j, err
	}
	p.Demand(kept.Judge == name, "judge", kept.Judge, name)
	p.Demand(kept.Version == version, "version", kept.Version, version)
	p.Demand(kept.Decide == decide, "decide", kept.Decide, decide)
	var ruling invariant.Ruling
	p.Add(ruling.UnmarshalText([]byte(kept.Ruling)))
	if err := p.Err(); err != nil {
		return j, fmt.Errorf("judge: %s: %w", path, err)
	}
	j.Ruling, j.Reason, j.Dissent, j.Cached = ruling, kept.Reason, kept.Dissent, true
	return j, nil
}

// decode reads a file strictly; errors name it.
func decode(path string, doc []byte, into any) error {
	err := strictjson.Decode(doc, into, func(p *strictjson.Problem) error { return p.Field(fields) })
	if err != nil {
		return fmt.Errorf("judge: %s: %w", path, err)
	}
	return nil
}
