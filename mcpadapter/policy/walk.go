package policy

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/internal/text"
)

// A walker reads a JSON object once, collects its members, and refuses names
// that occur more than once in any object. The text has to be valid JSON: the
// walker does not check it.
type walker struct {
	text    []byte
	at      int
	levels  []level
	members []member // of the outermost object
	began   int      // of the outermost member's value
}

// A level is an object or array that the walker is inside of.
type level struct {
	object bool
	onName bool            // the next string is a member's name
	names  []string        // folded, as long as they are few
	many   map[string]bool // the same, when they are more
}

// fewNames is up to where looking through a slice is cheaper than a map.
const fewNames = 16

func (w *walker) walk() error {
	for w.at < len(w.text) {
		switch c := w.text[w.at]; c {
		case '{', '[':
			if len(w.levels) == maxDepth {
				return fmt.Errorf("the arguments are nested deeper than %d levels", maxDepth)
			}
			w.levels = append(w.levels, level{object: c == '{', onName: c == '{'})
		case '}', ']':
			w.endOfValue()
			w.levels = w.levels[:len(w.levels)-1]
		case ',':
			w.endOfValue()
			top := &w.levels[len(w.levels)-1]
			top.onName = top.object
		case '"':
			if err := w.passString(); err != nil {
				return err
			}
			continue
		}
		w.at++
	}
	return nil
}

// endOfValue closes the value of the outermost object's last member, if that is
// what ends here.
func (w *walker) endOfValue() {
	if len(w.levels) != 1 || len(w.members) == 0 {
		return
	}
	if last := &w.members[len(w.members)-1]; last.value == nil {
		last.value = bytes.TrimSpace(w.text[w.began:w.at])
	}
}

// passString passes over a string, and adds it to the names if it is one.
func (w *walker) passString() error {
	from := w.at
	escaped := false
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	top := &w.levels[len(w.levels)-1]
	if !top.onName {
		return nil
	}
	top.onName = false
	name := string(w.text[from+1 : w.at-1])
	if escaped {
		if err := json.Unmarshal(w.text[from:w.at], &name); err != nil {
			return err
		}
	}
	if top.add(fold(name)) {
		return fmt.Errorf("the arguments name the member %q more than once (case apart)", text.Clip(name, 100))
	}
	if len(w.levels) == 1 {
		for w.text[w.at] != ':' {
			w.at++
		}
		w.at++
		w.began = w.at
		w.members = append(w.members, member{name: name})
	}
	return nil
}

// add reports whether the name was there already.
func (l *level) add(name string) bool {
	if l.many != nil {
		had := l.many[name]
		l.many[name] = true
		return had
	}
	for _, n := range l.names {
		if n == name {
			return true
		}
	}
	if l.names == nil {
		l.names = make([]string, 0, 8)
	}
	l.names = append(l.names, name)
	if len(l.names) > fewNames {
		l.many = make(map[string]bool, 2*fewNames)
		for _, n := range l.names {
			l.many[n] = true
		}
	}
	return false
}
