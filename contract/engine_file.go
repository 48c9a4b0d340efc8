package contract

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	head    *runHead
	encoder *unitEncoder
	keep    KeepPolicy
	each    bool                  // every job has a line: those of a unit are not made one after the other
	begun   map[unitKey]*keptUnit // of which some cells have not ended
	lines   []fileLine
	stop    chan struct{}
	stopped sync.WaitGroup

	mu     sync.Mutex // of what follows, which is also written without the lock of the collector
	file   *os.File
	at     int64 // the end of the file
	synced int64
	err    error // the first one; after it nothing is written
}

// A fileLine is where the cells of a unit are in the file.
type fileLine struct {
	unitKey
	from, length int64
}

// tryFile returns the error of a file that cannot be written, before any agent is called. It
// leaves one that is there as it is.
func (e *engine) tryFile() error {
	if e.o.File == "" {
		return nil
	}
	file, err := os.OpenFile(e.o.File, os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("contract: run file: %w", err)
	}
	return nil
}

// openFile makes the file of a run, with its head; nil: none was asked for.
func (e *engine) openFile() (*fileWriter, error) {
	if e.o.File == "" {
		return nil, nil
	}
	if err := e.head.check(); err != nil {
		return nil, err
	}
	e.head.Run, e.head.Build = hex.EncodeToString(randomID()), cmp.Or(e.o.Build, buildHash())
	file, err := os.Create(e.o.File)
	if err != nil {
		return nil, fmt.Errorf("contract: run file: %w", err)
	}
	f := &fileWriter{path: e.o.File, head: e.head, keep: e.o.Keep,
		encoder: &unitEncoder{head: e.head, placed: e.head.placesOfInvariants()}, each: e.o.Sequential,
		begun: map[unitKey]*keptUnit{}, file: file, stop: make(chan struct{})}
	if f.write(e.head); f.err != nil {
		return nil, errors.Join(f.err, file.Close())
	}
	f.stopped.Go(f.sync)
	return f, nil
}

func randomID() []byte {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // it never fails
	return id
}

// buildHash is the hash of the program that runs.
func buildHash() string {
	const unknown = "unknown"
	path, err := os.Executable()
	if err != nil {
		return unknown
	}
	file, err := os.Open(path)
	if err != nil {
		return unknown
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return unknown
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// sync writes what was appended to the disk each second, until the run ends.
func (f *fileWriter) sync() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
			f.mu.Lock()
			if f.err == nil && f.synced < f.at {
				f.fail(f.file.Sync())
				f.synced = f.at
			}
			f.mu.Unlock()
		}
	}
}

// fail remembers the first error.
func (f *fileWriter) fail(err error) {
	if f.err == nil && err != nil {
		f.err = fmt.Errorf("contract: run file: %w", err)
	}
}

// write appends a line, and returns where it is.
func (f *fileWriter) write(object any) (from, length int64) {
	text, err := encodeLine(object)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail(err); f.err != nil {
		return 0, 0
	}
	n, err := f.file.Write(text)
	f.fail(err)
	from = f.at
	f.at += int64(n)
	return from, int64(n)
}

// done takes the reports of a job. When those of a unit are complete, they are written.
func (f *fileWriter) done(j finished) {
	if f == nil || len(j.reports) == 0 {
		return
	}
	key := unitKey{j.scenario.index, j.trial}
	u := f.begun[key]
	if u == nil {
		u = &keptUnit{unitKey: key, cells: make([]*CellReport, len(j.scenario.invariants))}
		f.begun[key] = u
	}
	for k := range j.reports {
		own := j.reports[k]
		own.trim(f.keep)
		u.cells[j.first+k] = &own
	}
	u.ms += int64(j.took / time.Millisecond)
	if f.each || !slices.Contains(u.cells, nil) {
		delete(f.begun, key)
		f.unit(u)
	}
}

// unit writes the cells of a unit.
func (f *fileWriter) unit(u *keptUnit) {
	line, err := f.encoder.line(u)
	if err != nil {
		f.mu.Lock()
		f.fail(err)
		f.mu.Unlock()
		return
	}
	from, length := f.write(line)
	f.lines = append(f.lines, fileLine{u.unitKey, from, length})
}

// finish writes the file again, with its end. The old one stays until the new one is whole.
// cells are those of a sequential run, in the order of the matrix.
func (f *fileWriter) finish(r *Report, cells []CellReport) error {
	if f == nil {
		return nil
	}
	for _, u := range f.begun { // the run ended before the rest of its cells
		f.unit(u)
	}
	close(f.stop)
	f.stopped.Wait()
	if f.err == nil {
		f.fail(wholefile.WriteFunc(f.path, func(w io.Writer) error { return f.rewrite(w, r, cells) }))
	}
	f.fail(f.file.Close())
	return f.err
}

func (f *fileWriter) rewrite(w io.Writer, r *Report, cells []CellReport) error {
	out := bufio.NewWriter(w)
	if err := writeLine(out, f.head); err != nil {
		return err
	}
	if f.each {
		units, err := f.head.unitsOf(cells)
		if err = cmp.Or(err, f.encoder.write(out, units)); err != nil {
			return err
		}
	} else if err := f.copyLines(out); err != nil {
		return err
	}
	return cmp.Or(writeEnd(out, r), out.Flush())
}

// copyLines copies the lines of the units in the order of the matrix.
func (f *fileWriter) copyLines(w io.Writer) error {
	slices.SortFunc(f.lines, func(a, b fileLine) int {
		return cmp.Or(cmp.Compare(a.scenario, b.scenario), cmp.Compare(a.trial, b.trial))
	})
	for _, l := range f.lines {
		if _, err := io.Copy(w, io.NewSectionReader(f.file, l.from, l.length)); err != nil {
			return err
		}
	}
	return nil
}
