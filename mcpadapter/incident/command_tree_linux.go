package incident

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const prSetChildSubreaper = 36

// adoptOrphans makes this process the parent of every descendant whose own
// parent ends, whatever its session. So endDescendants can find all of them.
func adoptOrphans() error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}

// endDescendants kills every descendant of this process and waits for them. It
// must have adopted orphans, and no goroutine may wait for a child.
func endDescendants() {
	for {
		killChildren()
		_, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			return
		case err == nil:
			time.Sleep(time.Millisecond) // a killed process takes a moment to end, and its children to be adopted
		}
	}
}

// killChildren kills the children of this process. It then becomes the parent of
// their children.
func killChildren() {
	self := os.Getpid()
	for _, pid := range processes() {
		if parentOf(pid) == self {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// killStrays kills the processes that a runner left behind: those that have the
// identifier of an incident in their environment, and all their descendants.
//
// One of them may be a keeper, which adopts orphans. So a process is killed only
// when it has no descendants left.
func killStrays(incidentID string) {
	if incidentID == "" {
		return
	}
	entry := []byte("INCIDENT_ID=" + incidentID)
	for range strayRounds {
		below, tops := strays(entry)
		for _, pid := range below {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(below) == 0 {
			for _, pid := range tops {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
		time.Sleep(strayPause)
	}
	below, tops := strays(entry)
	for _, pid := range append(below, tops...) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// How often descendants are searched for, and the pause between: a second in
// all, even if new processes keep appearing.
const (
	strayRounds = 200
	strayPause  = 5 * time.Millisecond
)

// strays returns the processes that have an entry in their environment. tops have
// no ancestor with the entry; below are all descendants of tops. Processes that
// have ended, but were not waited for, are left out.
func strays(entry []byte) (below, tops []int) {
	parents, marked := make(map[int]int), make(map[int]bool)
	for _, pid := range processes() {
		state, parent := statOf(pid)
		if parent == 0 || state == 'Z' || pid == os.Getpid() {
			continue
		}
		parents[pid] = parent
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		marked[pid] = err == nil &&
			slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return bytes.Equal(v, entry) })
	}
	for pid := range parents {
		above := false
		for at, steps := parents[pid], 0; at > 1 && steps < len(parents) && !above; at, steps = parents[at], steps+1 {
			above = marked[at]
		}
		switch {
		case above:
			below = append(below, pid)
		case marked[pid]:
			tops = append(tops, pid)
		}
	}
	return below, tops
}

// processes returns the identifiers of all processes in /proc.
func processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read counts
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parentOf returns the parent of a process; 0: the process is gone.
func parentOf(pid int) int {
	_, parent := statOf(pid)
	return parent
}

// statOf reads the third and fourth field of /proc/PID/stat; the second may hold
// spaces and parentheses. A parent of 0: the process is gone.
func statOf(pid int) (state byte, parent int) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return fields[0][0], parent
}
