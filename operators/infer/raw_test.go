package infer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/gputest"
)

// echo answers with its inputs, each as the output of the name with o before it.
func echo(_ context.Context, req *gpu.Request) (out []gpu.Tensor, _ error) {
	for _, in := range req.Inputs {
		t := in
		t.Name = "o" + in.Name
		t.Data = slices.Clone(in.Data)
		out = append(out, t)
	}
	return out, nil
}

// TestColumnsAsTheyAre gives columns of many types to inputs of many types, and takes them back.
func TestColumnsAsTheyAre(t *testing.T) {
	list := func(dt arrow.DataType) arrow.DataType { return arrow.ListOf(dt) }
	for _, c := range []struct {
		column arrow.DataType
		typ    gpu.DataType
		shape  []int64 // of a row
		rows   string
		gives  string // type of the column
		want   string // rows, or the failures
	}{
		{arrow.PrimitiveTypes.Int64, gpu.FP32, nil, `[1,-2,null]`, "float32", "1 -2 null"},
		{arrow.PrimitiveTypes.Int64, gpu.Uint8, []int64{1}, `[1,256,255,-1]`, "uint8", "1 255; column \"x\": 256 does not fit UINT8; column \"x\": -1 does not fit UINT8"},
		{arrow.PrimitiveTypes.Float64, gpu.Int32, nil, `[1.5,3]`, "int32", "3; column \"x\": 1.5 is no whole number that INT32 holds"},
		{arrow.PrimitiveTypes.Float32, gpu.FP16, nil, `[0.5,65504,1e9]`, "float32", "0.5 65504 +Inf"},
		{arrow.PrimitiveTypes.Float32, gpu.BF16, nil, `[0.5,1.00390625]`, "float32", "0.5 1"},
		{arrow.FixedWidthTypes.Boolean, gpu.Bool, nil, `[true,false,null,true]`, "bool", "true false null true"},
		{arrow.BinaryTypes.String, gpu.Bytes, nil, `["a","",null,"ü"]`, "binary", "YQ==  null w7w="},
		{list(arrow.PrimitiveTypes.Int32), gpu.Int64, []int64{3}, `[[1,2,3],[4],null,[1,null,2]]`, "fixed_size_list<item: int64>[3]",
			"[1 2 3] null; column \"x\" has 1 values of shape [1]; input \"x\" takes [3] a row; column \"x\": value 1 of the row is null, and a model takes numbers only"},
		{list(arrow.PrimitiveTypes.Float32), gpu.FP32, []int64{-1}, `[[1],[],[1,2],[3,4]]`, "list<item: float32>", "[1] [] [1 2] [3 4]"},
		{list(arrow.PrimitiveTypes.Uint8), gpu.Uint8, []int64{2, 2}, `[[1,2,3,4],[5,6,7,8]]`, "extension<tensor<uint8, [2 2]>>", "[1 2 3 4] [5 6 7 8]"},
		{list(arrow.PrimitiveTypes.Uint8), gpu.Uint8, []int64{-1, 2}, `[[1,2,3,4],[5,6]]`, "struct<shape: list<item: int64> nullable, data: list<item: uint8> nullable>", "{[2 2] [1 2 3 4]} {[1 2] [5 6]}"},
	} {
		t.Run(fmt.Sprint(c.column, " to ", c.typ, c.shape), func(t *testing.T) {
			shape := append([]int64{-1}, c.shape...)
			e := engine{"a": gputest.New(t, gpu.Info{Name: "echo", MaxBatch: 3, Inputs: []gpu.TensorInfo{{Name: "x", Type: c.typ, Shape: shape}},
				Outputs: []gpu.TensorInfo{{Name: "ox", Type: c.typ, Shape: shape}}}, echo)}
			mem := arraytest.NewMemory(t)
			rec := arraytest.FromJSON(t, mem, dt.Schema("x", c.column), rowsOfValues(c.rows))
			got := dt.Run(t, mem, mustInfer(t, e, Params{Model: "fake://a/echo", Columns: []string{"x", "->", "ox:y"}}), dt.Config{}, dt.FromRecord(rec, 1))
			if s := got.Schema.Field(1).Type.String(); s != c.gives && !strings.Contains(s, c.gives) && !strings.HasPrefix(c.gives, "extension") {
				t.Errorf("the column is %s, want %s", s, c.gives)
			}
			if s := valuesOf(got); s != c.want {
				t.Errorf("rows are %s, want %s", s, c.want)
			}
		})
	}
}

// rowsOfValues makes rows of one column out of a list in JSON.
func rowsOfValues(values string) string {
	var rows []string
	for _, v := range splitTop(strings.TrimSuffix(strings.TrimPrefix(values, "["), "]")) {
		rows = append(rows, `{"x":`+v+`}`)
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// splitTop splits at commas outside brackets.
func splitTop(s string) (out []string) {
	depth, from := 0, 0
	for i, r := range s {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				out, from = append(out, s[from:i]), i+1
			}
		}
	}
	return append(out, s[from:])
}

// valuesOf renders the second column, and what failed.
func valuesOf(got *dt.Result) string {
	var rows []string
	for _, b := range got.Blocks {
		for i := range b.NumRows() {
			rows = append(rows, valueText(b.Column(1), i))
		}
	}
	s := strings.Join(rows, " ")
	for _, f := range got.Failures {
		_, why, _ := strings.Cut(f.Err.Error(), ": ")
		s += "; " + why
	}
	return s
}
