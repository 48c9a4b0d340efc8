package chaoshttp

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Refused makes a call fail as if nothing listened at the server's port: the
// error matches [syscall.ECONNREFUSED] within a [*net.OpError].
func Refused() chaos.Fault {
	return connection{kind: "http_refused", class: chaos.ClassCrash, way: true, err: func(h host) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: h.addr(), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}}
}

// Reset makes a call fail as if the server had reset the connection before it
// answered: the error matches [syscall.ECONNRESET] within a [*net.OpError].
// Behind a [Handler] the connection is really reset.
func Reset() chaos.Fault {
	return connection{kind: "http_reset", class: chaos.ClassCrash, err: func(h host) error {
		return &net.OpError{Op: "read", Net: "tcp", Source: localAddr(), Addr: h.addr(), Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}}
}

// HangUp makes a call fail as if the server had closed the connection in an
// orderly way instead of answering: the error is [io.EOF]. Behind a [Handler]
// the connection is really closed.
func HangUp() chaos.Fault {
	return connection{kind: "http_hang_up", class: chaos.ClassCrash, err: func(host) error { return io.EOF }}
}

// NoSuchHost makes a call fail as if the name of the host could not be
// resolved: the error is a [*net.DNSError] that is not found.
func NoSuchHost() chaos.Fault {
	return connection{kind: "dns_not_found", class: chaos.ClassCrash, way: true, err: func(h host) error {
		return lookup(&net.DNSError{Err: "no such host", Name: h.name, IsNotFound: true})
	}}
}

// DNSTimeout makes a call fail after wait as if the resolver did not answer:
// the error is a [*net.DNSError] that is a time-out. wait is 0 or more.
func DNSTimeout(wait time.Duration) chaos.Fault {
	return connection{kind: "dns_timeout", class: chaos.ClassTiming, way: true, waits: true, wait: wait, err: func(h host) error {
		return lookup(&net.DNSError{Err: "i/o timeout", Name: h.name, Server: "127.0.0.53:53", IsTimeout: true, IsTemporary: true})
	}}
}

func lookup(err *net.DNSError) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// connection is a fault that lets no request through.
type connection struct {
	kind   string
	class  chaos.Class
	way    bool // the failure is on the way to the server
	secure bool // only calls that use TLS meet it
	waits  bool
	wait   time.Duration
	err    func(host) error
	more   any // parameters besides; nil: none
	check  func(*param.Check)
}

func (f connection) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	r, ok := args.(Request)
	ok = ok && r.Request != nil // nil: another fault passed on no request
	if ok && r.server && f.way {
		chaos.Note(ctx, "the request has arrived: the way to the server cannot fail any more")
		return next(ctx, args)
	}
	if ok && f.secure && r.URL.Scheme == "http" {
		chaos.Note(ctx, "the call does not use TLS")
		return next(ctx, args)
	}
	if f.waits {
		if err := chaos.Sleep(ctx, f.wait); errors.Is(err, chaos.ErrDisarmed) {
			return next(ctx, args)
		} else if err != nil {
			return nil, err
		}
	}
	return nil, f.err(hostOf(r, c.Target))
}

func (f connection) Check() error {
	c := param.Check{Kind: f.kind}
	if f.waits {
		c.Wait("wait", f.wait)
	}
	if f.check != nil {
		f.check(&c)
	}
	return c.Err()
}

func (f connection) Describe() chaos.Description {
	d := chaos.Description{
		Kind: f.kind, Class: f.class, Visibility: chaos.Explicit,
		Persistence: chaos.Transient, Effect: chaos.EffectNone,
	}
	switch {
	case f.waits:
		d = param.With(d, waitParams{f.wait.String()})
	case f.more != nil:
		d = param.With(d, f.more)
	}
	return d
}

type waitParams struct {
	Wait string `json:"wait"`
}

// host is where a call goes to.
type host struct{ name, port string }

// hostOf is the host of the request or, at a point that is not HTTP, of a
// target of that form.
func hostOf(r Request, target string) host {
	authority, port := target, "443"
	switch {
	case r.Request != nil:
		authority = siteKeyOf(r.Request).host
		if r.URL != nil && r.URL.Scheme == "http" {
			port = "80"
		}
	default:
		if _, rest, ok := strings.Cut(target, " "); ok {
			authority, _, _ = strings.Cut(rest, "/")
		}
	}
	if name, p, err := net.SplitHostPort(authority); err == nil {
		return host{name, p}
	}
	return host{strings.Trim(authority, "[]"), port}
}

// addr is the address of the host. For a name it is the name, since it was not
// resolved.
func (h host) addr() net.Addr {
	if ip := net.ParseIP(h.name); ip != nil {
		if port, err := strconv.Atoi(h.port); err == nil {
			return &net.TCPAddr{IP: ip, Port: port}
		}
	}
	return namedAddr(net.JoinHostPort(h.name, h.port))
}

// localAddr is the near end of a connection.
func localAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 51234} }

type namedAddr string

func (namedAddr) Network() string  { return "tcp" }
func (a namedAddr) String() string { return string(a) }
