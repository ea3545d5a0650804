package triton

import (
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

// TestMessage writes random requests, reads them as the generated message, and compares that with one built field by field: lengths of one, two and three
// bytes, fields left out, and values that are the protocol's defaults.
func TestMessage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string { return strings.Repeat("ä", []int{0, 1, 5, 70, 9000}[rng.IntN(5)]) }
	number := func() int64 { return []int64{0, 1, -1, 127, 128, 1 << 40}[rng.IntN(6)] }
	region := func() (*sharedRegion, map[string]*pb.InferParameter) {
		if rng.IntN(2) == 0 {
			return nil, nil
		}
		r := &sharedRegion{word(), number(), number()}
		p := map[string]*pb.InferParameter{paramRegion: wantParameter(r.name), paramSize: wantParameter(r.len)}
		if r.offset != 0 {
			p[paramOffset] = wantParameter(r.offset)
		}
		return r, p
	}
	for range 2000 {
		var m message
		want := &pb.ModelInferRequest{ModelName: word(), ModelVersion: word(), Id: word(), Parameters: map[string]*pb.InferParameter{}}
		m.text(fieldModelName, want.ModelName)
		m.text(fieldModelVersion, want.ModelVersion)
		m.text(fieldID, want.Id)
		for range rng.IntN(3) {
			at, p := region()
			tensor := gpu.Tensor{Name: word(), Type: gpu.FP32}
			for range rng.IntN(4) {
				tensor.Shape = append(tensor.Shape, number())
			}
			m.input(&tensor, at)
			want.Inputs = append(want.Inputs, &pb.ModelInferRequest_InferInputTensor{Name: tensor.Name, Datatype: "FP32", Shape: tensor.Shape, Parameters: p})
			raw := []byte(word())
			m.raw, want.RawInputContents = append(m.raw, raw), append(want.RawInputContents, raw)
		}
		for range rng.IntN(3) {
			at, p := region()
			name := word()
			m.output(name, at)
			want.Outputs = append(want.Outputs, &pb.ModelInferRequest_InferRequestedOutputTensor{Name: name, Parameters: p})
		}
		for range rng.IntN(4) {
			key := word()
			value := []any{true, false, number(), word()}[rng.IntN(4)]
			m.parameter(key, value)
			want.Parameters[key] = wantParameter(value)
		}
		size, got := m.size(), &pb.ModelInferRequest{}
		raw := m.bytes()
		if err := proto.Unmarshal(raw, got); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got, want) || len(got.ProtoReflect().GetUnknown()) > 0 {
			t.Fatalf("read %v, want %v", got, want)
		}
		if size != len(raw) {
			t.Fatalf("size is %d, %d bytes were written", size, len(raw))
		}
	}
}

func wantParameter(v any) *pb.InferParameter {
	switch v := v.(type) {
	case bool:
		return &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: v}}
	case int64:
		return &pb.InferParameter{ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: v}}
	default:
		return &pb.InferParameter{ParameterChoice: &pb.InferParameter_StringParam{StringParam: v.(string)}}
	}
}
