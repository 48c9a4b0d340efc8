//go:build !unix

package incident

// openAtOnce has no bits where there are no named pipes among the files.
const openAtOnce = 0
