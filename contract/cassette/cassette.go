package cassette

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
)

// A SecretError reports that a credential of a recorded request would have been written to the file, so that nothing
// was written. It does not hold the credential.
type SecretError = tape.SecretError

// A ChangedError reports that the file changed between [Open] and [Cassette.Close], and where the recordings are.
type ChangedError = tape.ChangedError

// A Cassette is an open tape. It is safe for concurrent use, by all cells of a matrix.
type Cassette struct {
	path     string
	settings *settings
	stamp    tape.Stamp
	studio   *studio
	index    func() index
	closed   func() error
}

// Open reads the tape of that name. In replay mode the file must exist. In the other modes live calls are made by
// goroutines that Open starts, so it must not be called in a bubble, and [Cassette.Close] must be called.
//
// The error joins all that is wrong with the options or with the file, each a [*FieldError].
func Open(path string, o *Options) (*Cassette, error) {
	s, err := o.settings()
	if err != nil {
		return nil, err
	}
	if s.live() && inBubble() {
		return nil, fmt.Errorf("cassette: %s is opened inside a bubble of virtual time, where mode %s can make no live "+
			"calls: open it before the run (in a test, outside of the cells), or use mode replay", path, s.Mode)
	}
	c := &Cassette{path: path, settings: s}
	var f *tape.File
	if s.Mode != Off {
		if f, c.stamp, err = tape.Load(path); err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			if !s.live() {
				return nil, fmt.Errorf("cassette: there is no %s; %s=auto records it: %w", path, EnvMode,
					errors.Unwrap(err))
			}
		}
	}
	c.studio = openStudio(cmp.Or(f, &tape.File{}).Exchanges, s)
	c.index = sync.OnceValue(c.newIndex)
	c.closed = sync.OnceValue(c.close)
	return c, nil
}

// inBubble reports whether the caller is in a bubble of package synctest: its clock begins with the year 2000.
func inBubble() bool { return time.Now().UTC().Year() < 2010 }

// Player returns a new cursor. Each [contract.World] has one of its own.
func (c *Cassette) Player() *Player {
	p := &Player{cassette: c}
	p.Rewind()
	return p
}

// Unused returns the numbers, from 1, of the exchanges that no player has played, in the file as it was opened: what
// [Cassette.Close] writes may be in another order.
func (c *Cassette) Unused() []int {
	var numbers []int
	for i := range c.studio.used {
		if !c.studio.used[i].Load() {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// Close ends live calls and writes what was recorded, if anything was. In replay mode it does nothing. Its error joins
// what the tape lacks: the answers that were not recorded, each with the reason. The others are written all the same,
// unless the error has a [*SecretError] or says that a tape has no room for them; a [*ChangedError] names the file that
// has them. A later Close returns the same.
func (c *Cassette) Close() error { return c.closed() }

func (c *Cassette) close() error {
	if !c.settings.live() {
		return nil
	}
	c.studio.stop()
	if !c.settings.records() {
		return nil
	}
	exchanges, recorded := c.studio.exchanges()
	lacking := c.studio.lacking()
	if !recorded {
		return lacking
	}
	f := &tape.File{Exchanges: exchanges}
	return errors.Join(tape.Save(c.path, f, c.stamp, &c.studio.secrets), lacking)
}

// ofCell names a cell in a sentence.
func ofCell(cell string) string {
	if cell == "" {
		return ""
	}
	return " of cell " + cell
}
