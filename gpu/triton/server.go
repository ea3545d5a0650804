package triton

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

const defaultTimeout = 60 * time.Second

// dialect is which server it is, where that changes what is sent.
type dialect string

const (
	dialectTriton   dialect = "triton"
	dialectMLServer dialect = "mlserver" // its streams carry other messages
	dialectOther    dialect = "other"    // the six calls of the protocol only
)

// Server is a connection to a server. It is safe for concurrent use.
type Server struct {
	at    address
	opts  gpu.Options
	conns *conns
}

// Dial prepares a connection to the server of an address; a model in it is ignored. The first call reaches for the network.
func Dial(addr string, opts gpu.Options) (*Server, error) {
	at, err := parseAddress(addr)
	if err != nil {
		return nil, err
	}
	return newServer(at, opts, 1, messageLimit)
}

func newServer(at address, opts gpu.Options, n, limit int) (*Server, error) {
	c, err := dial(at, opts, n, limit)
	if err != nil {
		return nil, err
	}
	return &Server{at: at, opts: opts, conns: c}, nil
}

// Close ends the connection.
func (s *Server) Close() error { return s.conns.close() }

// CheckAddress says what is wrong with an address of a server, with or without a model.
func CheckAddress(addr string) error {
	_, err := parseAddress(addr)
	return err
}

// Host returns host:port.
func (s *Server) Host() string { return s.at.host }

// ModelName returns the model in the address, empty if it has none.
func (s *Server) ModelName() string { return s.at.model }

func (s *Server) timeout() time.Duration {
	if s.opts.Timeout > 0 {
		return s.opts.Timeout
	}
	return defaultTimeout
}

// bounded is ctx with the request's time limit.
func (s *Server) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout())
}

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	Name, Version string
	Extensions    []string
}

// Describe asks who the server is.
func (s *Server) Describe(ctx context.Context) (*ServerInfo, error) {
	call, cancel := s.bounded(ctx)
	defer cancel()
	r, err := s.conns.rpc().ServerMetadata(call, &pb.ServerMetadataRequest{})
	if err != nil {
		return nil, s.classify(ctx, "ask for the server's name", err)
	}
	return &ServerInfo{r.Name, r.Version, r.Extensions}, nil
}

// Live asks whether the server answers.
func (s *Server) Live(ctx context.Context) error {
	call, cancel := s.bounded(ctx)
	defer cancel()
	r, err := s.conns.rpc().ServerLive(call, &pb.ServerLiveRequest{})
	if err == nil && !r.Live {
		return &dataset.TransientError{Err: fmt.Errorf("server %s says that it is not live", s.at.host), After: afterLost}
	}
	return s.classify(ctx, "ask whether the server lives", err)
}

// Ready asks whether the server takes requests.
func (s *Server) Ready(ctx context.Context) error {
	call, cancel := s.bounded(ctx)
	defer cancel()
	r, err := s.conns.rpc().ServerReady(call, &pb.ServerReadyRequest{})
	if err == nil && !r.Ready {
		return &dataset.TransientError{Err: fmt.Errorf("server %s says that it is not ready", s.at.host), After: afterLost}
	}
	return s.classify(ctx, "ask whether the server is ready", err)
}

// dialect finds out which server it is; one that does not say is taken for the least.
func (s *Server) dialect(ctx context.Context) (dialect, error) {
	d, err := s.Describe(ctx)
	var fatal *dataset.FatalError
	switch {
	case errors.As(err, &fatal): // it exists, and does not tell
		return dialectOther, nil
	case err != nil:
		return "", err
	case d.Name == "triton":
		return dialectTriton, nil
	case d.Name == "mlserver":
		return dialectMLServer, nil
	}
	return dialectOther, nil
}

// ModelState is one model of a server's repository.
type ModelState struct {
	Name, Version string
	State         string // READY, UNAVAILABLE, LOADING, …
	Reason        string // why it is not ready
}

// Models lists the models of the server's repository. The error is gpu.ErrUnsupported where the server keeps no list.
func (s *Server) Models(ctx context.Context) ([]ModelState, error) {
	call, cancel := s.bounded(ctx)
	defer cancel()
	r, err := s.conns.rpc().RepositoryIndex(call, &pb.RepositoryIndexRequest{})
	if err != nil {
		return nil, s.optional(ctx, "list the models", err)
	}
	list := make([]ModelState, 0, len(r.Models))
	for _, m := range r.Models {
		list = append(list, ModelState{m.Name, m.Version, m.State, m.Reason})
	}
	return list, nil
}

// LoadModel has the server load a model of its repository, or load it again. config, if not empty, is a model configuration as JSON that replaces the
// stored one.
func (s *Server) LoadModel(ctx context.Context, name, config string) error {
	call, cancel := s.bounded(ctx)
	defer cancel()
	req := &pb.RepositoryModelLoadRequest{ModelName: name}
	if config != "" {
		req.Parameters = map[string]*pb.ModelRepositoryParameter{
			"config": {ParameterChoice: &pb.ModelRepositoryParameter_StringParam{StringParam: config}},
		}
	}
	_, err := s.conns.rpc().RepositoryModelLoad(call, req)
	return s.optional(ctx, "load model "+name, err)
}

// UnloadModel has the server unload a model.
func (s *Server) UnloadModel(ctx context.Context, name string) error {
	call, cancel := s.bounded(ctx)
	defer cancel()
	_, err := s.conns.rpc().RepositoryModelUnload(call, &pb.RepositoryModelUnloadRequest{ModelName: name})
	return s.optional(ctx, "unload model "+name, err)
}

// optional classes the error of a call that not every server offers.
func (s *Server) optional(ctx context.Context, doing string, err error) error {
	if isCode(err, codes.Unimplemented) {
		return fmt.Errorf("%s on %s: %w", doing, s.at.host, gpu.ErrUnsupported)
	}
	return s.classify(ctx, doing, err)
}
