package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// latency passes before a request does its work, and again before its answer, so that a call can be cancelled before
// its work, and after it.
const latency = 15 * time.Millisecond

// A backend is a fake of the API that a server works on. Each has a file of its own, which says what of the real API
// it plays, and where that is documented.
type backend struct {
	mux     *http.ServeMux
	busy    sync.WaitGroup
	mu      sync.Mutex
	restore func()     // brings its first state back
	show    func() any // returns its state
}

func newBackend(restore func(), show func() any) *backend {
	restore()
	return &backend{mux: http.NewServeMux(), restore: restore, show: show}
}

// A request has the members of its body, which is a JSON object, or none.
type request struct {
	*http.Request
	body map[string]any
}

func (r *request) text(name string) string {
	text, _ := r.body[name].(string)
	return text
}

func (r *request) number(name string) float64 {
	n, _ := r.body[name].(float64)
	return n
}

// on makes a handler of a function that does the work of a request and returns its answer. A request does its work
// also if the client has left: an API does not notice that in time.
func (b *backend) on(pattern string, work func(r *request) (status int, answer any)) {
	b.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		b.busy.Add(1)
		defer b.busy.Done()
		in := &request{Request: r, body: map[string]any{}}
		if err := json.NewDecoder(r.Body).Decode(&in.body); err != nil && err != io.EOF {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		time.Sleep(latency)
		b.mu.Lock()
		status, answer := work(in)
		doc, err := json.Marshal(answer) // before the lock is released: it may be a part of the state
		b.mu.Unlock()
		time.Sleep(latency)
		if err != nil {
			status, doc = http.StatusInternalServerError, nil
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			w.Write(doc) //nolint:errcheck // the client may have left
		}
	})
}

// state returns the state once no request is at work.
func (b *backend) state() any {
	b.busy.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.show()
}

func (b *backend) reset() {
	b.busy.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.restore()
}

// hosts are the APIs whose address a server cannot be told.
var hosts = []string{"api.razorpay.com", "api.github.com"}

// A front is where a server reaches a backend. It is an API, with /state and /reset beside it, and an HTTP proxy that
// leads to that API whatever is asked for: HTTPS_PROXY and SSL_CERT_FILE in the environment of a server lead it there.
type front struct {
	url, dir, certificate string // certificate is a file in the folder dir
	plain, secure         *httptest.Server
}

// openFront opens the front of a backend whose requests are answered by api: its own mux, or what is before it.
func openFront(b *backend, api http.Handler, address, dir string) (*front, error) {
	f := &front{dir: dir, certificate: filepath.Join(dir, "ca.pem"), secure: httptest.NewUnstartedServer(api)}
	cert, err := certificateFor(hosts, f.certificate)
	if err != nil {
		return nil, err
	}
	f.secure.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	f.secure.StartTLS()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		f.secure.Close()
		return nil, err
	}
	beside := http.NewServeMux()
	beside.Handle("/", api)
	beside.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(b.state()) //nolint:errcheck // the client may have left
	})
	beside.HandleFunc("POST /reset", func(http.ResponseWriter, *http.Request) { b.reset() })
	f.plain = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			f.tunnel(w)
			return
		}
		beside.ServeHTTP(w, r)
	}))
	f.plain.Listener.Close() //nolint:errcheck // it has another one
	f.plain.Listener = listener
	f.plain.Start()
	f.url = f.plain.URL
	return f, nil
}

func (f *front) close() {
	f.plain.CloseClientConnections()
	f.plain.Close()
	f.secure.CloseClientConnections()
	f.secure.Close()
}

// tunnel connects a client of the proxy with the API under TLS.
func (f *front) tunnel(w http.ResponseWriter) {
	there, err := net.Dial("tcp", f.secure.Listener.Addr().String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		there.Close() //nolint:errcheck // nothing was sent
		return
	}
	io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n") //nolint:errcheck // the copies end if it has left
	one := func(to net.Conn, from io.Reader) {
		io.Copy(to, from) //nolint:errcheck // its end is the end of the connection
		to.Close()        //nolint:errcheck // so is this
	}
	go one(there, buffered)
	go one(here, there)
}

// certificateFor makes a certificate for hosts, which it also writes to a file, as the one authority to trust.
func certificateFor(hosts []string, file string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: hosts, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(file, block, 0o644)
}
