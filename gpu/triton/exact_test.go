package triton

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/gpu"
)

var types = []gpu.DataType{gpu.Bool, gpu.Uint8, gpu.Uint16, gpu.Uint32, gpu.Uint64, gpu.Int8, gpu.Int16, gpu.Int32, gpu.Int64, gpu.FP16, gpu.BF16, gpu.FP32, gpu.FP64}

// TestIdentityIsExact sends random bits of every type, small and large, through an identity model, inline and through shared memory.
func TestIdentityIsExact(t *testing.T) {
	p := shared(t)
	for _, share := range []bool{false, true} {
		for _, dt := range types {
			t.Run(fmt.Sprintf("%s/shared=%v", dt, share), func(t *testing.T) {
				m := openModel(t, p, "ident_"+string(dt), gpu.Options{Shared: share})
				r := rand.New(rand.NewPCG(1, 2))
				for _, shape := range [][]int64{{1, 1}, {3, 5}, {64, 700}, {0, 4}} {
					in := gpu.Tensor{Name: "x", Type: dt, Shape: shape}
					data, err := m.Alloc(t.Context(), int(in.Len())*dt.Size())
					if err != nil {
						t.Fatal(err)
					}
					for i := range data {
						if data[i] = byte(r.Uint32()); dt == gpu.Bool {
							data[i] &= 1
						}
					}
					in.Data = data
					want := bytes.Clone(data)
					resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}})
					if err != nil {
						t.Fatal(err)
					}
					if len(resp.Outputs) != 1 || !bytes.Equal(resp.Outputs[0].Data, want) || !slices.Equal(resp.Outputs[0].Shape, shape) {
						t.Errorf("%v came back different", shape)
					}
					if err := resp.Outputs[0].Check(); err != nil {
						t.Error(err)
					}
					resp.Release()
				}
				sharedBytes := int64(0)
				if sh := m.slots.shared(); sh != nil {
					st := sh.Stats()
					sharedBytes = st.FreshBytes + st.RecycledBytes
					if st.InUseBytes != 0 {
						t.Errorf("%d bytes of slots are still in use", st.InUseBytes)
					}
				}
				if (sharedBytes > 0) != share {
					t.Errorf("%d bytes went through shared memory", sharedBytes)
				}
			})
		}
	}
}

func TestBytes(t *testing.T) {
	p := shared(t)
	for _, share := range []bool{false, true} {
		m := openModel(t, p, "ident_BYTES", gpu.Options{Shared: share})
		long := bytes.Repeat([]byte("long "), 5000)
		for _, list := range [][][]byte{{}, {[]byte("")}, {[]byte("héllo"), nil, {0xff, 0xfe, 0}}, {long, []byte("x")}} {
			in := gpu.Tensor{Name: "x", Type: gpu.Bytes, Shape: []int64{int64(len(list)), 1}, Strings: list}
			resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}, Outputs: []string{"y"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := resp.Outputs[0].Strings; !slices.EqualFunc(got, list, bytes.Equal) {
				t.Errorf("shared=%v: %d strings came back as %q", share, len(list), got)
			}
			resp.Release()
		}
	}
}

func TestInfo(t *testing.T) {
	m := openModel(t, shared(t), "ident_FP16", gpu.Options{Shared: true})
	info, err := m.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != "ident_FP16" || info.Version != "3" || info.MaxBatch != 64 || info.Parallel != 2 || info.Decoupled || info.Meta["labels"] != "a,b" || len(info.Notes) != 0 ||
		info.Platform != "python" || len(info.Inputs) != 1 || info.Inputs[0].Type != gpu.FP16 || !slices.Equal(info.Inputs[0].Shape, []int64{-1, -1}) {
		t.Errorf("info is %+v", info)
	}
}

func TestDialects(t *testing.T) {
	for _, tc := range []struct {
		name  string
		args  []string
		model string
		note  string
	}{
		{"mlserver", []string{"--dialect", "mlserver"}, "ident_FP32", "this kind of server has none"},
		{"typed", []string{"--dialect", "mlserver", "--typed"}, "ident_FP32", "does not describe the model's inputs"},
		{"kserve", []string{"--dialect", "kserve"}, "ident_FP32", "tells no batch limit"},
		{"no shared memory", []string{"--no-shm"}, "ident_FP32", "--allow-client-shm=true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := openModel(t, shared(t, tc.args...), tc.model, gpu.Options{Shared: true})
			for range 2 {
				in := floats(t, m, 2, 3000)
				want := bytes.Clone(in.Data)
				resp, err := m.Infer(t.Context(), &gpu.Request{ID: "7", Inputs: []gpu.Tensor{in}})
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(resp.Outputs[0].Data, want) {
					t.Error("the answer differs")
				}
				resp.Release()
			}
			info, err := m.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(info.Notes, "\n"), tc.note) {
				t.Errorf("notes are %q, want %q in them", info.Notes, tc.note)
			}
			if _, err := m.Load(t.Context()); tc.args[0] != "--no-shm" && err == nil {
				t.Error("a load is told by a server that keeps none")
			}
		})
	}
}

func TestStream(t *testing.T) {
	for _, dialect := range []string{"triton", "mlserver"} {
		t.Run(dialect, func(t *testing.T) {
			m := openModel(t, shared(t, "--dialect", dialect), "countdown", gpu.Options{Shared: true})
			ask := func(n byte) *gpu.Request {
				return &gpu.Request{Inputs: []gpu.Tensor{{Name: "x", Type: gpu.Int32, Shape: []int64{1}, Data: []byte{n, 0, 0, 0}}}}
			}
			var got []byte
			for r, err := range m.Stream(t.Context(), ask(4)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.Outputs[0].Data[0])
				r.Release()
			}
			if !slices.Equal(got, []byte{4, 3, 2, 1}) {
				t.Errorf("responses are %v", got)
			}
			for r, err := range m.Stream(t.Context(), ask(5)) {
				if err != nil {
					t.Fatal(err)
				}
				r.Release()
				break
			}
			if dialect != "triton" {
				return
			}
			resp, err := m.Infer(t.Context(), ask(3))
			if err != nil {
				t.Fatal(err)
			}
			if o := resp.Outputs[0]; !slices.Equal(o.Shape, []int64{3}) || len(o.Data) != 12 {
				t.Errorf("joined: %v, %d bytes", o.Shape, len(o.Data))
			}
			resp.Release()
			if _, err := m.Infer(t.Context(), ask(9)); err == nil || !strings.Contains(err.Error(), "unlucky") {
				t.Errorf("an error in the middle: %v", err)
			}
			if _, err := m.Infer(t.Context(), ask(0)); err == nil {
				t.Error("no response is no error")
			}
		})
	}
}

func TestRepository(t *testing.T) {
	s, err := Dial(shared(t).Host(), gpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	if err := s.Live(ctx); err != nil {
		t.Error(err)
	}
	d, err := s.Describe(ctx)
	if err != nil || d.Name != "triton" {
		t.Errorf("the server is %+v, %v", d, err)
	}
	if err := s.LoadModel(ctx, "more", `{"name":"more"}`); err != nil {
		t.Error(err)
	}
	list, err := s.Models(ctx)
	if err != nil || len(list) != 3 || list[1].Reason != "no such file" || list[2].Name != "more" {
		t.Errorf("models are %v, %v", list, err)
	}
	if err := s.UnloadModel(ctx, "more"); err != nil {
		t.Error(err)
	}
	if err := s.LoadModel(ctx, "nope", ""); err == nil || !strings.Contains(err.Error(), "failed to poll") {
		t.Errorf("loading what is not there: %v", err)
	}
}
