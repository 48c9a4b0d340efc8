package contract

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A Shard is a share of the units of a matrix, for several runs that make the whole together: each
// has an Index from 1 to Count. The zero value is all units.
//
// A unit is the cells of a scenario and trial. Its shard is its place in the matrix modulo Count, so
// that two shards differ by one unit at most. With [RunOptions].Sequential the trials of a scenario
// depend on each other, so the place is that of its scenario.
type Shard struct{ Index, Count int }

// String returns the text that UnmarshalText reads, such as 2/8; "" for all units.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// MarshalText returns what String does.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a text such as 2/8. Any other is a [*FieldError], and leaves s unchanged.
func (s *Shard) UnmarshalText(text []byte) error {
	index, count, _ := strings.Cut(string(text), "/")
	var read Shard
	read.Index, _ = strconv.Atoi(index)
	read.Count, _ = strconv.Atoi(count)
	if read == (Shard{}) || read.String() != string(text) || read.check() != nil { // so 02/8 is none
		return fields.Wrong("shard", string(text), wantShard)
	}
	*s = read
	return nil
}

const wantShard = "an index from 1 to the count, such as 2/8"

func (s Shard) check() error {
	if s != (Shard{}) && (s.Index < 1 || s.Index > s.Count) {
		return fields.Wrong("RunOptions.Shard", fielderror.Found(s.String()), wantShard)
	}
	return nil
}

// File is the name of the shard's own file beside those of the others: 2/8 makes
// desk.2of8.run.jsonl of desk.run.jsonl. That of all units is path, and so is an empty path.
func (s Shard) File(path string) string {
	if path == "" || s == (Shard{}) {
		return path
	}
	ending := filepath.Ext(path)
	if strings.HasSuffix(path, runFileEnding) {
		ending = runFileEnding
	}
	return fmt.Sprintf("%s.%dof%d%s", strings.TrimSuffix(path, ending), s.Index, s.Count, ending)
}

const runFileEnding = ".run.jsonl"

// has reports whether a unit is of the shard, by its place.
func (s Shard) has(place int) bool { return s == (Shard{}) || place%s.Count == s.Index-1 }
