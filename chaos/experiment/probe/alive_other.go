//go:build !unix && !windows

package probe

import (
	"errors"
	"os"
)

func alive(*os.Process) (bool, error) { return false, errors.ErrUnsupported }
