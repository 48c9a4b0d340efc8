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
// parent has ended, whatever session it has: none is lost from sight.
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
			time.Sleep(time.Millisecond) // a killed process takes a moment to end, and its children one to come to us
		}
	}
}

// killChildren kills the children of this process. Theirs come to it then.
func killChildren() {
	self := os.Getpid()
	for _, pid := range processes() {
		if parentOf(pid) == self {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// killStrays kills the processes that have the identifier of an incident in
// their environment, and that somebody who starts agents has lost sight of.
func killStrays(incidentID string) {
	if incidentID == "" {
		return
	}
	entry := []byte("INCIDENT_ID=" + incidentID)
	for _, pid := range processes() {
		if pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return bytes.Equal(v, entry) }) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// processes are the identifiers of all processes that can be seen.
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

// parentOf reads the fourth field of /proc/PID/stat; the second may hold
// spaces and parentheses. 0: the process is gone.
func parentOf(pid int) int {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
