package triton

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
)

const (
	// afterFull is how long to wait for a server whose queue is full, when its pace is not known.
	afterFull = 50 * time.Millisecond
	// afterLost is how long to wait for a server that cannot be reached.
	afterLost = 200 * time.Millisecond
)

// What servers say, in lower case. Triton gives one code for what differs, so the words decide.
const (
	saysRestricted  = "protocol is restricted"
	saysQueueFull   = "exceeds maximum queue size"
	saysTimeout     = "request timeout expired"
	saysStubDead    = "is not healthy"
	saysInUse       = "currently in use"
	saysTooLarge    = "message larger than max"
	saysRegion      = "shared memory region"
	saysUnavailable = "no available versions"
)

// mistakes are messages of INTERNAL, UNKNOWN and UNAVAILABLE that tell of a request that would fail anywhere: of Triton, MLServer and KServe.
var mistakes = []string{
	"should be at least", // an output slot that is too small
	"unexpected total byte size", "unexpected additional input data", "got unexpected",
	"cannot reshape array", "buffer size must be a multiple", "buffer is smaller than requested size",
	"input_contents", "raw_input_contents",
}

// tooSmall finds the bytes that an output needs, in Triton's words for a slot that is too small.
var tooSmall = regexp.MustCompile(`should be at least (\d+) bytes`)

// neededBytes reads how much room an output needs from the error about too little.
func neededBytes(err error) (int, bool) {
	m := tooSmall.FindStringSubmatch(status.Convert(err).Message())
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil && n <= messageLimit
}

// isRegionLost says that a server does not know a segment that it was told of: it was restarted.
func isRegionLost(err error) bool {
	s := status.Convert(err)
	return s.Code() == codes.NotFound && says(s, saysRegion) || s.Code() == codes.InvalidArgument && says(s, "unable to find shared memory region")
}

func says(s *status.Status, words string) bool {
	return strings.Contains(strings.ToLower(s.Message()), words)
}

// isCode says whether err is an answer of that code.
func isCode(err error, c codes.Code) bool { return err != nil && status.Code(err) == c }

// answered says whether the server itself answered, so that it does no more work for the request. A lost connection or a time-out of ours is no
// answer.
func answered(err error) bool {
	s, ok := status.FromError(err)
	if err == nil {
		return true
	}
	if !ok {
		return false
	}
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded:
		return false
	case codes.Unavailable:
		return says(s, saysRestricted) || says(s, saysQueueFull) || says(s, saysTimeout)
	case codes.Internal:
		return !strings.HasPrefix(s.Message(), "stream terminated") && !says(s, "rst_stream")
	}
	return true
}

// classify makes of an error of gRPC what gpu.Model promises. ctx is the caller's.
func (s *Server) classify(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s on %s: %w", doing, s.at.host, context.Cause(ctx))
	}
	st, ok := status.FromError(err)
	if !ok {
		return fmt.Errorf("%s on %s: %w", doing, s.at.host, err)
	}
	said := fmt.Errorf("%s on %s: %s (%s)", doing, s.at.host, st.Message(), st.Code())
	switch st.Code() {
	case codes.InvalidArgument, codes.OutOfRange, codes.FailedPrecondition, codes.AlreadyExists:
		return fmt.Errorf("%w: %w", said, gpu.ErrRequest)
	case codes.NotFound:
		if says(st, saysUnavailable) {
			return &dataset.TransientError{Err: said, After: afterLost}
		}
		return &dataset.FatalError{Err: said}
	case codes.Unimplemented, codes.Unauthenticated, codes.PermissionDenied:
		return &dataset.FatalError{Err: said}
	case codes.DeadlineExceeded:
		return &dataset.TransientError{Err: fmt.Errorf("%s on %s: no answer within %s", doing, s.at.host, s.timeout())}
	case codes.Canceled, codes.Aborted, codes.DataLoss:
		return &dataset.TransientError{Err: said}
	case codes.ResourceExhausted:
		if says(st, saysTooLarge) {
			return fmt.Errorf("%w: send smaller batches, or raise the server's message limit: %w", said, gpu.ErrRequest)
		}
		return &dataset.TransientError{Err: said, After: afterFull}
	case codes.Unavailable:
		return unavailable(st, said)
	case codes.Internal, codes.Unknown:
		return internal(st, said)
	}
	return said
}

// unavailable tells apart what Triton says with one code: never, not now, and gone.
func unavailable(st *status.Status, said error) error {
	switch {
	case says(st, saysRestricted):
		return &dataset.FatalError{Err: fmt.Errorf("%w: start the server without the restriction, or give the token it asks for", said)}
	case says(st, saysQueueFull):
		return &dataset.TransientError{Err: said, After: afterFull}
	case says(st, saysTimeout):
		return &dataset.TransientError{Err: said}
	}
	return &dataset.TransientError{Err: said, After: afterLost}
}

// internal tells the caller's mistakes from the server's, which the stage asks about with Healthy.
func internal(st *status.Status, said error) error {
	if says(st, saysStubDead) {
		return &dataset.TransientError{Err: fmt.Errorf("%w: the model has crashed; unload and load it", said), After: afterLost}
	}
	for _, m := range mistakes {
		if says(st, m) {
			return fmt.Errorf("%w: %w", said, gpu.ErrRequest)
		}
	}
	return said
}

// isStubDead recognises the error of a model whose process has crashed.
func isStubDead(err error) bool {
	var t *dataset.TransientError
	return errors.As(err, &t) && strings.Contains(strings.ToLower(t.Err.Error()), saysStubDead)
}
