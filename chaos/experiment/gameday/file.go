package gameday

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// file is a history on the disk, with a line for each entry:
//
//	checksum length {"number":"0","run":"1","started":{…}}
//	checksum length {"number":"1","run":"1","result":{…}}
//
// The checksum (CRC-32C, eight hexadecimal digits) and the length are those of the
// JSON. A crash can only tear the last line, and a torn line does not match its
// checksum.
type file struct {
	path  string
	f     *os.File // nil: closed
	size  int64    // of the whole lines
	lines int
}

// openFile reads the whole lines and cuts off what follows them.
func openFile(path string) (*file, []entry, error) {
	_ = os.Remove(path + temporary) // left by a crash in replace; if it stays, replace overwrites it
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(f)
	var entries []entry
	var size int64
	if err == nil {
		entries, size, err = parse(data)
	}
	if err == nil && size < int64(len(data)) {
		err = errors.Join(f.Truncate(size), f.Sync())
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, errors.Join(err, f.Close()))
	}
	syncFolder(path)
	return &file{path: path, f: f, size: size, lines: len(entries)}, entries, nil
}

// parse reads lines up to a torn end. size is the length of the whole lines.
func parse(data []byte) (entries []entry, size int64, err error) {
	for rest := data; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		e, ok := parseLine(line)
		if !ok || len(line) == len(rest) { // the line is torn, or its line end is missing
			if anyLine(rest) {
				return nil, 0, fmt.Errorf("the line at byte %d is damaged, and whole ones follow", size)
			}
			return entries, size, nil
		}
		entries = append(entries, e)
		size += int64(len(line)) + 1
		rest = after
	}
	return entries, size, nil
}

func parseLine(line []byte) (e entry, ok bool) {
	at := bytes.IndexByte(line, '{')
	if at < 0 {
		return e, false
	}
	doc := line[at:]
	return e, string(line[:at]) == header(doc) && json.Unmarshal(doc, &e) == nil
}

// anyLine reports whether the data has a whole line, also after a line whose end is
// damaged.
func anyLine(data []byte) bool {
	for line := range bytes.Lines(data) {
		line, ended := bytes.CutSuffix(line, []byte("\n"))
		for at := bytes.IndexByte(line, '{'); ended && at >= 0; {
			if doc := line[at:]; bytes.HasSuffix(line[:at], []byte(header(doc))) {
				return true
			}
			next := bytes.Index(line[at+1:], []byte(`{"number":`))
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	return false
}

func header(doc []byte) string {
	return fmt.Sprintf("%08x %d ", crc32.Checksum(doc, crc32.MakeTable(crc32.Castagnoli)), len(doc))
}

func format(e entry) ([]byte, error) {
	doc, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return append(append([]byte(header(doc)), doc...), '\n'), nil
}

// append writes one line and waits until it is on the disk. A line that was written
// only in part is removed.
func (f *file) append(e entry) error {
	if f.f == nil {
		return errClosed
	}
	line, err := format(e)
	if err != nil {
		return err
	}
	if _, err = f.f.Write(line); err == nil {
		err = f.f.Sync()
	}
	if err != nil {
		_, seek := f.f.Seek(f.size, io.SeekStart)
		return errors.Join(err, f.f.Truncate(f.size), seek)
	}
	f.size += int64(len(line))
	f.lines++
	return nil
}

const temporary = ".tmp"

// replace replaces the file by one with only these entries. A crash leaves the old
// file or the new one.
func (f *file) replace(entries []entry) error {
	var all bytes.Buffer
	for _, e := range entries {
		line, err := format(e)
		if err != nil {
			return err
		}
		all.Write(line)
	}
	if err := writeSynced(f.path+temporary, all.Bytes()); err != nil {
		return err
	}
	if err := f.close(); err != nil { // some systems do not replace an open file
		return err
	}
	renamed := os.Rename(f.path+temporary, f.path)
	syncFolder(f.path)
	again, _, err := openFile(f.path)
	if err != nil {
		return errors.Join(renamed, err)
	}
	*f = *again
	return renamed
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFolder makes sure that the name of a new file is on the disk. Systems such as
// Windows cannot sync a folder; the error is ignored, since they do not need it.
func syncFolder(path string) {
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}
