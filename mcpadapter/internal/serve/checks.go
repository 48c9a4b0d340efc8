package serve

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// Named refuses requests for a name that is not one of these. If there are none,
// the handlers of the SDK refuse names that are not loopback names on a loopback
// address.
func Named(names []string, next http.Handler) http.Handler {
	if len(names) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			name = host
		}
		if !slices.ContainsFunc(names,
			func(h string) bool { return strings.EqualFold(h, name) || strings.EqualFold(h, r.Host) }) {
			http.Error(w, "Forbidden: this server has another name", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Open refuses requests while closing reports true.
func Open(closing func() bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if closing() {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Refusing answers every request with what is missing, and nothing else.
func Refusing(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "mcpadapter: no token is configured: "+err.Error(), http.StatusUnauthorized)
	})
}

// Loopback reports whether only this machine reaches an address.
func Loopback(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}
