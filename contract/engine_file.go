package contract

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/internal/wholefile"
)

// A fileWriter writes the run file while the run lasts: units as they end. At the end it writes
// the file again, in the order of the matrix. A nil one writes nothing.
type fileWriter struct {
	path    string
	encoder *unitEncoder
	keep    KeepPolicy
	each    bool  // every job has a line: those of a unit are not made one after the other
	begun   units // of which some cells have not ended
	lines   []fileLine

	mu   sync.Mutex // of what follows
	file *os.File
	at   int64       // the end of the file
	sync *time.Timer // after which what was appended is on the disk; nil: all is
	err  error       // the first one; after it nothing is written

	closed bool
}

// openFile opens the file of a run, before any agent is called. What is in it stays until the run
// begins to write.
func (e *engine) openFile() (err error) {
	if e.o.File == "" {
		return nil
	}
	if e.file, err = os.OpenFile(e.o.File, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return fmt.Errorf("contract: run file: %w", err)
	}
	return nil
}

// newFileWriter begins the file of a run, with its head; nil: none was asked for.
func (e *engine) newFileWriter(fold *fold) (*fileWriter, error) {
	if e.file == nil {
		return nil, nil
	}
	e.head.Run, e.head.Build = hex.EncodeToString(randomID()), e.build()
	f := &fileWriter{path: e.o.File, keep: e.o.Keep, encoder: &unitEncoder{fold: fold}, each: e.o.Sequential,
		begun: newUnits(len(e.m.Invariants)), file: e.file}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail(e.head.check())
	switch {
	case f.err != nil: // the file that is there stays
	case e.resumed != nil:
		f.fail(f.goOn(e.resumed))
	default:
		f.fail(f.file.Truncate(0))
		f.write(encodeLine(e.head))
	}
	return f, f.err
}

// goOn begins the file with the units that are known. It may be the one that they are from: that
// stays until the new one is whole.
func (f *fileWriter) goOn(from *resumed) error {
	f.file.Close() //nolint:errcheck // nothing was written
	head, err := encodeLine(f.encoder.fold.head)
	if err != nil {
		return err
	}
	if err := wholefile.WriteFunc(f.path, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		_, _ = out.Write(head) // Flush has the error
		defer from.close()     // Windows replaces no open file
		return cmp.Or(from.copyTo(out, int64(len(head)), f.encoder), out.Flush())
	}); err != nil {
		return err
	}
	if f.file, err = os.OpenFile(f.path, os.O_RDWR, 0); err != nil {
		return err
	}
	from.file, f.lines = f.file, slices.Clone(from.units)
	f.at, err = f.file.Seek(0, io.SeekEnd)
	return err
}

func randomID() []byte {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // it never fails
	return id
}

// unknownBuild is the build of a program that nobody named and whose executable cannot be read.
const unknownBuild = "unknown"

// build names the program that is tested. Its executable is read once at most: that takes some 40 ms.
func (e *engine) build() string {
	if e.builtAs == "" {
		if e.builtAs = e.o.Build; e.builtAs == "" {
			e.builtAs = buildHash()
		}
	}
	return e.builtAs
}

func buildHash() string {
	path, err := os.Executable()
	if err != nil {
		return unknownBuild
	}
	file, err := os.Open(path)
	if err != nil {
		return unknownBuild
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return unknownBuild
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func (f *fileWriter) fail(err error) {
	if f.err == nil && err != nil {
		f.err = fmt.Errorf("contract: run file: %w", err)
	}
}

// write appends a line; f.mu is held.
func (f *fileWriter) write(line []byte, err error) {
	if f.fail(err); f.err != nil {
		return
	}
	n, err := f.file.Write(line)
	f.fail(err)
	if f.sync == nil {
		f.sync = time.AfterFunc(time.Second, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.sync != nil {
				f.fail(f.file.Sync())
			}
			f.sync = nil
		})
	}
	f.at += int64(n)
}

// done takes the reports of a job. When those of a unit are complete, they are written.
func (f *fileWriter) done(j finished) {
	if f == nil || len(j.reports) == 0 || j.known != nil { // those that are known are there
		return
	}
	u := f.begun.of(j.scenario.index, j.trial)
	for k := range j.reports {
		own := j.reports[k]
		own.trim(f.keep)
		u.cells[j.invariants[k].index] = &own
	}
	u.ms += int64(j.took / time.Millisecond)
	if f.each || len(slices.DeleteFunc(slices.Clone(u.cells), isNil)) == len(j.scenario.invariants) {
		delete(f.begun.begun, u.unitKey)
		f.unit(u)
	}
}

func isNil(c *CellReport) bool { return c == nil }

func (f *fileWriter) unit(u *unit) {
	line, err := f.encoder.line(u)
	_, _ = f.append(u.unitKey, line, err) // finish has the error
}

func (f *fileWriter) append(key unitKey, line []byte, err error) (fileLine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := fileLine{unitKey: key, from: f.at}
	f.write(line, err)
	at.length = f.at - at.from
	f.lines = append(f.lines, at)
	return at, f.err
}

// finish writes the file again, with its end. The old one stays until the new one is whole.
func (f *fileWriter) finish(r *Report, rounds *rounds) error {
	if f == nil {
		return nil
	}
	for _, u := range f.begun.begun { // the run ended before the rest of its cells
		f.unit(u)
	}
	f.stop()
	if f.err == nil {
		f.fail(wholefile.WriteFunc(f.path, func(w io.Writer) error { return f.rewrite(w, r, rounds) }))
	}
	f.fail(f.file.Close())
	f.closed = true
	return f.err
}

// stop ends the timer, and reports whether something is not on the disk.
func (f *fileWriter) stop() (dirty bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if dirty = f.sync != nil; dirty {
		f.sync.Stop()
		f.sync = nil
	}
	return dirty
}

// close leaves a file without an end, unless it was finished.
func (f *fileWriter) close() {
	if f == nil || f.closed {
		return
	}
	if f.stop() {
		f.fail(f.file.Sync())
	}
	f.fail(f.file.Close())
}

func (f *fileWriter) rewrite(w io.Writer, r *Report, rounds *rounds) error {
	out := bufio.NewWriter(w)
	if err := writeLine(out, f.encoder.fold.head); err != nil {
		return err
	}
	write := f.copyLines
	if rounds != nil {
		write = func(out io.Writer) error { return f.encoder.write(out, rounds.units.inOrder()) }
	}
	return cmp.Or(write(out), writeEnd(out, r), out.Flush())
}

func (f *fileWriter) copyLines(w io.Writer) error {
	slices.SortFunc(f.lines, func(a, b fileLine) int { return a.compare(b.unitKey) })
	for _, l := range f.lines {
		if _, err := io.Copy(w, io.NewSectionReader(f.file, l.from, l.length)); err != nil {
			return err
		}
	}
	return nil
}
