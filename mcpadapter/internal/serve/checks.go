package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

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

// maxBatch is how many messages one batch may have: a short line can ask for a lot.
const maxBatch = 100

// mayBeBatch reports whether a text begins as a batch, or does not show yet how it begins.
func mayBeBatch(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) == 0 || text[0] == '['
}

// tooMany returns what is wrong with a batch of messages; "": nothing.
func tooMany(text []byte) string {
	var batch []json.RawMessage
	if !mayBeBatch(text) || json.Unmarshal(text, &batch) != nil || len(batch) <= maxBatch {
		return ""
	}
	return fmt.Sprintf("a batch of %d messages; allowed: at most %d", len(batch), maxBatch)
}

// Batches refuses batches of too many messages. A body of more than most bytes is left
// to the next handler, which refuses it. Single messages are not read here.
func Batches(next http.Handler, most int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			in := bufio.NewReaderSize(r.Body, 16)
			var again io.Reader = in
			if head, _ := in.Peek(16); mayBeBatch(head) { // an error comes again
				body, err := io.ReadAll(io.LimitReader(in, most+1))
				if why := tooMany(body); err == nil && why != "" {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusBadRequest)
					_, _ = w.Write(refusal(jsonrpc.CodeInvalidRequest, why))
					return
				}
				again = io.MultiReader(bytes.NewReader(body), in)
			}
			r.Body = struct {
				io.Reader
				io.Closer
			}{again, r.Body}
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
