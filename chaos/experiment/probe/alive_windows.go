package probe

import (
	"os"
	"syscall"
)

// stillActive is the exit code of a process that has none yet (STILL_ACTIVE).
const stillActive = 259

func alive(p *os.Process) (bool, error) {
	const queryLimitedInformation = 0x1000 // PROCESS_QUERY_LIMITED_INFORMATION
	h, err := syscall.OpenProcess(queryLimitedInformation, false, uint32(p.Pid))
	if err != nil {
		return false, nil
	}
	defer syscall.CloseHandle(h)
	var code uint32
	if err := syscall.GetExitCodeProcess(h, &code); err != nil {
		return false, err
	}
	return code == stillActive, nil
}
