package action

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// FillDirectory writes a file into a directory until all files in and below it have
// quota bytes together, or the disk is full. The rollback deletes the file. The
// output has its path and size. If the directory already has that many bytes, the
// file has 0 bytes. The bytes are really written: choose a quota that the disk can
// hold, or a directory with a quota of its own.
func FillDirectory(dir string, quota int64) Start {
	return func(ctx context.Context) (any, experiment.Undo, error) {
		if quota <= 0 {
			return nil, nil, fmt.Errorf("action: fill %s: the quota is %d; allowed: more than 0", dir, quota)
		}
		used, err := usage(ctx, dir)
		if err != nil {
			return nil, nil, fmt.Errorf("action: fill: %w", err)
		}
		f, err := os.CreateTemp(dir, "fill-*")
		if err != nil {
			return nil, nil, fmt.Errorf("action: fill: %w", err)
		}
		undo := func(context.Context) error {
			if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("action: empty: %w", err)
			}
			return nil
		}
		written, err := fill(ctx, f, quota-used)
		if err = errors.Join(err, f.Close()); err != nil {
			err = fmt.Errorf("action: fill: %w", err)
		}
		return map[string]any{"path": f.Name(), "bytes": written}, undo, err
	}
}

// usage returns the total size of the files in and below dir. Files that vanish
// meanwhile count 0.
func usage(ctx context.Context, dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				sum += info.Size()
			}
		}
		if path != dir && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return sum, err
}

// fill writes n bytes, fewer if there is no more space. They are not all zeros:
// some file systems store those without using space.
func fill(ctx context.Context, f *os.File, n int64) (written int64, err error) {
	block := make([]byte, 1<<18)
	for i := range block {
		block[i] = byte(i*31>>3 ^ i)
	}
	for written < n && err == nil {
		if err := ctx.Err(); err != nil {
			return written, err
		}
		var some int
		some, err = f.Write(block[:min(int64(len(block)), n-written)])
		written += int64(some)
	}
	if err == nil {
		err = f.Sync()
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = nil
	}
	return written, err
}
