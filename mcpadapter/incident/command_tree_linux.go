package incident

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// killStrays kills the processes that have the identifier of an incident in their
// environment, also those that opened a session of their own. It searches until
// there are none, since they may start others meanwhile.
func killStrays(incidentID string) {
	if incidentID == "" {
		return
	}
	entry := []byte(incidentVariable + "=" + incidentID)
	for range strayRounds {
		found := strays(entry)
		if len(found) == 0 {
			return
		}
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(strayPause)
	}
}

// How often strays are searched for, and the pause between: a second in all, even
// if new processes keep appearing.
const (
	strayRounds = 200
	strayPause  = 5 * time.Millisecond
)

// strays returns the other processes that have an entry in their environment. A
// process that has ended has none, even if it was not waited for.
func strays(entry []byte) (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read counts
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", name, "environ"))
		has := func(v []byte) bool { return bytes.Equal(v, entry) }
		if err == nil && slices.ContainsFunc(bytes.Split(environ, []byte{0}), has) {
			pids = append(pids, pid)
		}
	}
	return pids
}
