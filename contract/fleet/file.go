package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

// workerDied is the reason of the cells of a unit that was given up.
const workerDied = "its worker died three times"

// collected is the run file while results come: a head, and units in the order in which they came.
type collected struct {
	file    *os.File
	missing map[string]bool // units
	dirty   bool            // something is not on the disk
}

// collect begins the run file. It has what the file of Resume has, but for the units that were given
// up: those are tried again.
func collect(units *contract.Units, id string, o *contract.RunOptions) (*collected, error) {
	c := &collected{missing: map[string]bool{}}
	for _, unit := range units.Names() {
		c.missing[unit] = true
	}
	head, err := units.Head(id)
	if err != nil {
		return nil, err
	}
	err = wholefile.WriteFunc(o.File, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		if _, err := out.Write(head); err != nil {
			return err
		}
		if o.Resume != "" {
			if err := c.goOn(out, units, o.Resume); err != nil {
				return err
			}
		}
		return out.Flush()
	})
	if err == nil {
		c.file, err = os.OpenFile(o.File, os.O_WRONLY|os.O_APPEND, 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("fleet: run file: %w", err)
	}
	return c, nil
}

// goOn copies the units of a run file. The file is read twice, because a line is copied only when the
// whole file is known to be sound.
func (c *collected) goOn(w io.Writer, units *contract.Units, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fields.Because("Options.Run.Resume", path, err, "a run file")
	}
	defer file.Close() //nolint:errcheck // it was only read
	if err := new(contract.Report).ReadRun(file, true); err != nil {
		if own, ok := errors.AsType[*contract.FieldError](err); ok {
			own.File = path
		}
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReader(file)
	for first := true; ; first = false {
		line, err := in.ReadBytes('\n')
		switch {
		case err == io.EOF: // what a killed run left of a line is run again
			return nil
		case err != nil:
			return err
		case first:
			if err := units.Check(line); err != nil {
				return err
			}
			continue
		}
		if unit := whole(line); c.missing[unit] {
			if _, err := w.Write(line); err != nil {
				return err
			}
			delete(c.missing, unit)
		}
	}
}

// whole is the name of the unit of a line; "" if it must be run again, or the line has none.
func whole(line []byte) string {
	var u struct {
		Unit, States string
		Cells        map[string]struct{ Why string }
	}
	if json.Unmarshal(line, &u) != nil || bytes.ContainsAny([]byte(u.States), "ns") {
		return ""
	}
	for _, c := range u.Cells {
		if c.Why == workerDied {
			return ""
		}
	}
	return u.Unit
}

// add appends the line of a unit that is missing.
func (c *collected) add(unit string, line []byte) error {
	var of struct{ Unit string }
	if err := json.Unmarshal(line, &of); err != nil || of.Unit != unit || !bytes.HasSuffix(line, []byte("}\n")) {
		return fields.Wrong("result", fielderror.Found("what is no line of unit "+unit), "the line that a worker made")
	}
	if _, err := c.file.Write(line); err != nil {
		return fmt.Errorf("fleet: run file: %w", err)
	}
	delete(c.missing, unit)
	c.dirty = true
	return nil
}

func (c *collected) sync() error {
	if !c.dirty {
		return nil
	}
	c.dirty = false
	return c.file.Sync()
}

func (c *collected) close() error { return errors.Join(c.sync(), c.file.Close()) }

// sameUnit reports whether two lines of a unit say the same, apart from real times.
func sameUnit(head, a, b []byte) bool {
	stable := func(line []byte) []byte {
		var r contract.Report
		var out bytes.Buffer
		file := bytes.NewReader(append(bytes.Clone(head), line...))
		if r.ReadRun(file, false) != nil || r.WriteRun(&out, true, false) != nil {
			return nil
		}
		return out.Bytes()
	}
	first := stable(a)
	return first != nil && bytes.Equal(first, stable(b))
}
