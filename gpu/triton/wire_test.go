package triton

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

// TestProtocolIsTritons compares the generated messages with those of Triton's own client, field by field.
func TestProtocolIsTritons(t *testing.T) {
	file := filepath.Join(t.TempDir(), "v2.pb")
	connectortest.RunPython(t, python(t), filepath.Join("..", "..", "hack", "proto", "dump.py"), file)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	ours := map[string]*descriptorpb.FileDescriptorProto{
		"grpc_service.proto": protodesc.ToFileDescriptorProto(pb.File_grpc_service_proto),
		"model_config.proto": protodesc.ToFileDescriptorProto(pb.File_model_config_proto),
	}
	if len(set.File) != len(ours) {
		t.Fatalf("there are %d files", len(set.File))
	}
	theirs, err := protodesc.NewFiles(&set) // fills in what descriptors in Python leave out
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range ours {
		file, err := theirs.FindFileByPath(name)
		if err != nil {
			t.Fatal(err)
		}
		want := protodesc.ToFileDescriptorProto(file)
		got.Options, want.Options = nil, nil
		dropJSONNames(got.MessageType)
		dropJSONNames(want.MessageType)
		if !proto.Equal(got, want) {
			t.Errorf("%s differs: run make proto", name)
		}
	}
}

// dropJSONNames removes what protoc derives from the names of fields and descriptors in Python do not hold.
func dropJSONNames(messages []*descriptorpb.DescriptorProto) {
	for _, m := range messages {
		for _, f := range m.Field {
			f.JsonName = nil
		}
		dropJSONNames(m.NestedType)
	}
}

// stall is a proxy that stops reading from the client after so many bytes, until released.
type stall struct {
	listener net.Listener
	release  chan struct{}
	wg       sync.WaitGroup
}

func newStall(t *testing.T, to string, after int64) *stall {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stall{listener: l, release: make(chan struct{})}
	s.wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			s.wg.Go(func() {
				defer out.Close()
				if _, err := io.CopyN(out, in, after); err == nil {
					<-s.release
					_, _ = io.Copy(out, in)
				}
			})
			s.wg.Go(func() {
				defer in.Close()
				_, _ = io.Copy(in, out)
			})
		}
	})
	return s
}

// TestSlowReader sends a large request to a server that stops reading in the middle: the caller gets away at its deadline, and a patient one gets its
// answer when the server reads on.
func TestSlowReader(t *testing.T) {
	s := newStall(t, shared(t).Host(), 1<<20)
	m, err := open("triton://"+s.listener.Addr().String()+"/ident_FP32", gpu.Options{}, messageLimit)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context) error {
		in := floats(t, m, 4, 1<<20)
		resp, err := m.Infer(ctx, &gpu.Request{Inputs: []gpu.Tensor{in}})
		if err == nil {
			resp.Release()
		}
		return err
	}
	if _, err := m.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := ask(ctx); err == nil || ctx.Err() == nil {
		t.Errorf("a stalled request: %v", err)
	}
	done := make(chan error)
	go func() { done <- ask(t.Context()) }()
	close(s.release)
	if err := <-done; err != nil {
		t.Errorf("after the stall: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	s.listener.Close()
	s.wg.Wait()
}
