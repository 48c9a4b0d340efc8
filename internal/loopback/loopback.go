// Package loopback finds the port of a server on this machine in the name of an
// injection point, "GET 127.0.0.1:40213/orders". The system chooses such a port anew in
// each run.
package loopback

import "strings"

// Cut returns what stands before and after the port of a loopback host, without the
// colon. ok is false if the name has none.
func Cut(name string) (before, port, after string, ok bool) {
	_, rest, found := strings.Cut(name, " ") // METHOD host:port/path
	if !found {
		return "", "", "", false
	}
	for _, host := range []string{"127.0.0.1:", "localhost:", "[::1]:"} {
		if port, found := strings.CutPrefix(rest, host); found {
			end := strings.IndexFunc(port, func(r rune) bool { return r < '0' || r > '9' })
			if end < 0 {
				end = len(port)
			}
			at := len(name) - len(port)
			return name[:at-1], port[:end], port[end:], end > 0
		}
	}
	return "", "", "", false
}
