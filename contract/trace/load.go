package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// Load adds runs recorded elsewhere, from files that the host names: JSON lines in a
// name that ends with ".jsonl", as [SampleList.WriteLines] writes them, and OTLP in
// one with ".json". The id and label of a run are the name of its file without folder
// and ending, and it is a baseline that began at the epoch of its samples. o has the
// options of the timelines; nil: the defaults.
//
// All files are read before the first run is added; if one cannot be read, none is. The
// error joins the problems of all files. A run that the store refuses, such as one
// whose id is taken, is in the error too; the others are added.
func (s *Runs) Load(o *timeline.RunOptions, files fs.FS, names ...string) (ids []string, err error) {
	var entries []Entry
	var problems []error
	for _, name := range names {
		e, err := loadEntry(o, files, name)
		if err != nil {
			problems = append(problems, fmt.Errorf("trace: %s: %w", name, err))
			continue
		}
		entries = append(entries, e)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	for _, e := range entries {
		id, err := s.Add(e)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		ids = append(ids, id)
	}
	return ids, errors.Join(problems...)
}

// Page returns the runs of a kind ("": any), newest first, without the first offset and
// at most limit of them, and how many there are in all. The page is never nil.
func (s *Runs) Page(kind Kind, offset, limit int) (page []Entry, all int) {
	page = []Entry{}
	for _, e := range slices.Backward(s.List()) {
		if kind != "" && e.Kind != kind {
			continue
		}
		if all++; all > offset && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, all
}

func loadEntry(o *timeline.RunOptions, files fs.FS, name string) (Entry, error) {
	read := ReadLines
	ending := path.Ext(name)
	switch ending {
	case ".jsonl":
	case ".json":
		read = ReadOTLP
	default:
		return Entry{}, fields.Wrong("name", name, `a name that ends with ".jsonl" (JSON lines) or ".json" (OTLP)`)
	}
	f, err := files.Open(name)
	if err != nil {
		return Entry{}, err
	}
	list, err := read(f, nil)
	if err = errors.Join(err, f.Close()); err != nil {
		return Entry{}, err
	}
	run, err := list.Run(o)
	if err != nil {
		return Entry{}, err
	}
	id := strings.TrimSuffix(path.Base(name), ending)
	return Entry{ID: id, Label: id, CreatedAt: run.Epoch(), Timeline: run}, nil
}
