package triton

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

const (
	// messageLimit bounds one message in either direction: the sender's batch, and the answer of a server gone wrong.
	messageLimit = 1 << 30
	// The flow-control windows let one large tensor be under way without a round trip for each 64 KiB of it.
	streamWindow = 16 << 20
	connWindow   = 64 << 20
	ioBuffer     = 256 << 10
	// reconnectAfter bounds the wait between attempts: a server that comes back is found within it. gRPC's own bound is two minutes.
	reconnectAfter = time.Second
	// requestsPerConn is how many requests share a connection: one has one writer and one window.
	requestsPerConn = 8
	// worthSpreading is the size from which a request may go to any connection. Smaller ones share the first: a lock-step of writers and readers that wake
	// for one small message each costs more than the message.
	worthSpreading = 64 << 10
	// A machine that is gone without a word is noticed this late at most; servers take more frequent pings for an attack.
	pingEvery  = 310 * time.Second
	pingWithin = 20 * time.Second
	maxConns   = 4
)

// conns are the connections to one server.
type conns struct {
	all  []*grpc.ClientConn
	stub pb.GRPCInferenceServiceClient // on the first
	next atomic.Uint32
}

// bearer puts the token on each request.
type bearer struct {
	token  string
	secure bool
}

var _ credentials.PerRPCCredentials = bearer{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (b bearer) RequireTransportSecurity() bool { return b.secure }

// dial prepares connections to a server; none is made yet.
func dial(at address, opts gpu.Options, n, limit int) (*conns, error) {
	creds := insecure.NewCredentials()
	if opts.TLS {
		creds = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	set := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limit), grpc.MaxCallSendMsgSize(limit)),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithReadBufferSize(ioBuffer), grpc.WithWriteBufferSize(ioBuffer),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectAfter},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingWithin}),
		grpc.WithDisableServiceConfig(),
	}
	if opts.Token != "" {
		if !opts.TLS && !at.local() {
			return nil, fmt.Errorf("connect to %s: the token would travel in plain text beyond this machine: use TLS", at.host)
		}
		set = append(set, grpc.WithPerRPCCredentials(bearer{opts.Token, opts.TLS}))
	}
	c := &conns{}
	for range n {
		cc, err := grpc.NewClient("dns:///"+at.host, set...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect to %s: %w", at.host, err), c.close())
		}
		c.all = append(c.all, cc)
	}
	c.stub = pb.NewGRPCInferenceServiceClient(c.all[0])
	return c, nil
}

// pick gives the connection for a request of n bytes.
func (c *conns) pick(n int) *grpc.ClientConn {
	if n < worthSpreading {
		return c.all[0]
	}
	return c.turn()
}

// turn gives the next connection.
func (c *conns) turn() *grpc.ClientConn { return c.all[int(c.next.Add(1))%len(c.all)] }

func (c *conns) rpc() pb.GRPCInferenceServiceClient { return c.stub }

func (c *conns) close() error {
	var errs []error
	for _, cc := range c.all {
		errs = append(errs, cc.Close())
	}
	return errors.Join(errs...)
}
