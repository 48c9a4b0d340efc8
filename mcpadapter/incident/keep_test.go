//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package incident_test

func runToTheEnd([]string) int { return 0 }
func beAgent() int { return 0 }
