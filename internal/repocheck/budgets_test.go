package repocheck

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A room is a row of the map in ARCHITECTURE.md, with its budget: how many lines of code outside tests it
// may have. A folder that no row names belongs to the nearest one above it that a row names.
type room struct {
	row     int // of the lines of the page
	folders []string
	budget  int
	lines   int
}

var (
	roomRow   = regexp.MustCompile("(?m)^\\| ((?:`[^`]+`(?:, )?)+) \\| ([0-9,]+) \\| .*\\|$")
	roomLines = regexp.MustCompile(`\| [0-9,]+ \|`)
	// allLines is the sum of the budgets as CHANGELOG.md states it, with the reason of the last change.
	allLines = regexp.MustCompile(`Lines outside tests: at most ([0-9,]+)`)
)

func roomsOf(page string) (rooms []*room) {
	for i, line := range strings.Split(page, "\n") {
		if m := roomRow.FindStringSubmatch(line); m != nil {
			r := &room{row: i, budget: number(m[2])}
			for name := range strings.SplitSeq(m[1], ", ") {
				r.folders = append(r.folders, strings.Trim(name, "`/"))
			}
			rooms = append(rooms, r)
		}
	}
	return rooms
}

// number reads 12,345; with a thousands separator or without.
func number(text string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	return n
}

// roomOf returns the room of a file: that of its folder, or of the nearest folder above it.
func roomOf(rooms []*room, file string) *room {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		for _, r := range rooms {
			for _, folder := range r.folders {
				if folder == dir || folder == file {
					return r
				}
			}
		}
		if dir == "." {
			return nil
		}
	}
}

// A room grows only with its row, and the sum only with a reason in CHANGELOG.md. UPDATE_GOLDEN=1 lowers the budgets
// of rooms that shrank; it raises none.
func TestBudgets(t *testing.T) {
	file := filepath.Join(root, "ARCHITECTURE.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	rooms := roomsOf(string(text))
	require.NotEmpty(t, rooms)
	for _, p := range everyPackage(t) {
		for _, f := range p.code() {
			if within(f.path, "examples/frameworks") {
				continue // each shows another library; they are counted apart
			}
			if r := roomOf(rooms, f.path); assert.NotNil(t, r, "%s is in no room of ARCHITECTURE.md", f.path) {
				r.lines += f.lines
			}
		}
	}
	lines, sum, lowered := strings.Split(string(text), "\n"), 0, false
	for _, r := range rooms {
		sum += r.budget
		assert.LessOrEqual(t, r.lines, r.budget, "%v has more lines than its budget: take them from a room, or say in its row why not",
			r.folders)
		if r.lines < r.budget && os.Getenv("UPDATE_GOLDEN") == "1" {
			now := fmt.Sprint(r.lines)
			if r.lines >= 1000 {
				now = fmt.Sprintf("%d,%03d", r.lines/1000, r.lines%1000)
			}
			lines[r.row] = roomLines.ReplaceAllString(lines[r.row], "| "+now+" |")
			lowered = true
		}
	}
	if lowered {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644))
	}
	changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	require.NoError(t, err)
	stated := allLines.FindSubmatch(changes)
	require.NotNil(t, stated, "CHANGELOG.md states the sum of the budgets, as in %q", allLines)
	assert.LessOrEqual(t, sum, number(string(stated[1])), "the budgets grew: CHANGELOG.md gives the reason with the new sum")
}
