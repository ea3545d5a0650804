package infer

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/isolate"
)

// address is where a model is: one or more replicas.
type address struct {
	scheme   string
	replicas []string // whole addresses, as openers take them
	names    []string // for people, without the model
	model    string   // its name, for people
}

// parseAddress divides an address with several hosts into one a replica.
func parseAddress(text string) (address, error) {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || scheme == "" || rest == "" {
		return address{}, fmt.Errorf("model %q is no address: write onnx:FILE, onnx:NAME or triton://HOST:PORT/MODEL", text)
	}
	a := address{scheme: scheme}
	hosts, path, server := strings.Cut(strings.TrimPrefix(rest, "//"), "/")
	if !strings.HasPrefix(rest, "//") {
		a.replicas, a.names = []string{text}, []string{text}
		a.model = rest[strings.LastIndexByte(rest, '/')+1:]
		return a, nil
	}
	if !server || path == "" || hosts == "" {
		return address{}, fmt.Errorf("model %q names no model: write %s://HOST:PORT/MODEL", text, scheme)
	}
	a.model = path
	for h := range strings.SplitSeq(hosts, ",") {
		if h == "" {
			return address{}, fmt.Errorf("model %q has an empty host between commas", text)
		}
		if slices.Contains(a.names, h) {
			return address{}, fmt.Errorf("model %q names %s twice", text, h)
		}
		a.replicas = append(a.replicas, scheme+"://"+h+"/"+path)
		a.names = append(a.names, h)
	}
	return a, nil
}

// grace is how long an isolated model may go on beyond the time-out of a request before its process is killed.
const grace = time.Second

// open opens all replicas of the model; it reaches for no network. o has what the parameters do not say.
func (s *spec) open(o gpu.Options) (models []gpu.Model, err error) {
	opener, ok := s.deps.Open[s.address.scheme]
	if !ok {
		known := slices.Sorted(maps.Keys(s.deps.Open))
		return nil, fmt.Errorf("model %q: there is no engine %q%s; there are %s", s.params.Model, s.address.scheme,
			dataset.DidYouMean(s.address.scheme, slices.Clone(known)), strings.Join(known, ", "))
	}
	r := s.params.Running
	if s.modelIsolated() {
		opener = isolate.Models{Grace: grace, LimitBy: "timeout of " + s.name}.Open
	}
	o.Version, o.Timeout, o.Threads, o.Shared, o.Slots, o.TLS = s.params.Version, r.Timeout, r.Threads, !r.Inline, 2*r.Window, r.TLS
	if r.TokenEnv != "" {
		if o.Token = os.Getenv(r.TokenEnv); o.Token == "" {
			return nil, fmt.Errorf("token_env=%s: the variable is not set", r.TokenEnv)
		}
	}
	for _, at := range s.address.replicas {
		m, err := opener(at, o)
		if err != nil {
			for _, m := range models {
				_ = m.Close()
			}
			return nil, fmt.Errorf("open model %s: %w", at, err)
		}
		models = append(models, m)
	}
	return models, nil
}
