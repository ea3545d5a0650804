package triton

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// defaultPort is where Triton serves gRPC.
const defaultPort = "8001"

// address is a server, and a model of it.
type address struct {
	host    string // host:port
	model   string // empty means none
	version string
}

// parseAddress reads "triton://host[:port][/model][?version=N]"; the scheme may be grpc or absent.
func parseAddress(text string) (address, error) {
	bad := func(format string, a ...any) (address, error) {
		return address{}, fmt.Errorf("read address %q: %s; write triton://HOST:PORT/MODEL", text, fmt.Sprintf(format, a...))
	}
	full := text
	if !strings.Contains(full, "://") {
		full = "triton://" + full
	}
	u, err := url.Parse(full)
	if err != nil {
		return bad("%v", err)
	}
	switch {
	case u.Scheme != "triton" && u.Scheme != "grpc":
		return bad("the scheme is %q", u.Scheme)
	case u.Hostname() == "":
		return bad("there is no host")
	case u.User != nil:
		return bad("a name or password is given; use a token")
	case u.Fragment != "":
		return bad("there is a fragment")
	}
	a := address{host: u.Host, model: strings.Trim(u.Path, "/")}
	if u.Port() == "" {
		a.host = net.JoinHostPort(u.Hostname(), defaultPort)
	}
	if strings.Contains(a.model, "/") {
		return bad("the model %q has a slash", a.model)
	}
	for k, v := range u.Query() {
		if k != "version" || len(v) != 1 {
			return bad("unknown option %q (there is version)", k)
		}
		a.version = v[0]
	}
	return a, nil
}

// local says whether the server is on this machine, as far as its name tells.
func (a address) local() bool {
	host, _, err := net.SplitHostPort(a.host)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
