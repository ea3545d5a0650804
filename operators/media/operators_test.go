package media

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// parseOp builds a Spec the way a pipeline string does. A step that begins with where is a stand-in for the filter operator.
func parseOp(text string) (dataset.Spec, error) {
	name, rest, _ := strings.Cut(text, " ")
	if name == "where" {
		return whereSpec(rest)
	}
	reg := dataset.NewRegistry()
	if err := Register(reg); err != nil {
		return nil, err
	}
	def, err := reg.Operator(name)
	if err != nil {
		return nil, err
	}
	params := def.Zero()
	if err := dataset.ParseArgs(rest, params); err != nil {
		return nil, err
	}
	return def.New(params)
}

type expectation struct {
	OK            bool
	Width, Height int
	Group         string
}

func expected(t testing.TB) (map[string]expectation, []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(photos, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]expectation
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	return all, names
}

func TestDecodeAllPhotos(t *testing.T) {
	rt := newRuntime(t)
	exp, names := expected(t)
	out := run(t, rt, op(t, "decode"), images(t, rt, names...))
	paths, widths, heights := column(out, "path"), column(out, "width"), column(out, "height")
	i := 0
	for _, n := range names {
		e := exp[n]
		if !e.OK {
			if rt.failures[n] == nil {
				t.Errorf("%s did not fail", n)
			}
			continue
		}
		if i >= len(paths) || paths[i] != n {
			t.Fatalf("row %d is not %s in %v", i, n, paths)
		}
		if widths[i] != strconv.Itoa(e.Width) || heights[i] != strconv.Itoa(e.Height) {
			t.Errorf("%s: %sx%s, want %dx%d", n, widths[i], heights[i], e.Width, e.Height)
		}
		i++
	}
	if len(out) < 2 {
		t.Errorf("%d blocks for some 10 MB of pixels at a target of 1 MiB", len(out))
	}
	for k, b := range out {
		if b.Bytes() > 4<<20 {
			t.Errorf("block %d has %d bytes at a target of 1 MiB", k, b.Bytes())
		}
		for row := range b.NumRows() {
			if id := b.Identity().At(row); names[id.Position] != b.ColumnByName("path").ValueStr(row) {
				t.Errorf("block %d row %d has the identity of %s", k, row, names[id.Position])
			}
		}
	}
	classes := map[string]string{
		"broken/truncated.jpg": "truncated", "broken/empty.jpg": "empty file",
		"broken/not-an-image.jpg": "not an image", "broken/bomb.png": "too large",
	}
	for n, class := range classes {
		if got := dataset.ClassOf(rt.failures[n]); got != class {
			t.Errorf("%s: class %q, want %q (%v)", n, got, class, rt.failures[n])
		}
	}
}

func TestFirstFailureEndsTheRunIfAsked(t *testing.T) {
	rt := newRuntime(t)
	rt.stop = true
	out, err := tryRun(t, rt, op(t, "decode"), images(t, rt, "cat.jpg", "broken/truncated.jpg", "coffee.jpg"))
	if err == nil || !strings.Contains(err.Error(), "truncated") || len(out) != 0 {
		t.Errorf("got %d blocks and error %v, want none and truncated", len(out), err)
	}
}

func TestNullImagesStayNull(t *testing.T) {
	rt := newRuntime(t)
	for _, steps := range [][]string{
		{"decode"}, {"decode", "resize 8x8"}, {"decode", "resize 8x8", "encode png"}, {"decode", "phash", "score"},
		{"decode", "resize 8x8", "to-tensor 8x8"},
	} {
		out := run(t, rt, chain(t, steps...), images(t, rt, "!null", "cat.jpg", "!null too"))
		got := []bool{}
		for _, b := range out {
			for row := range b.NumRows() {
				null := b.ColumnByName("image").IsNull(row)
				got = append(got, null)
				for i := 2; i < b.NumCols(); i++ {
					if b.Column(i).IsNull(row) != null {
						t.Errorf("%v: column %s of row %d: null is %v", steps, b.Schema().Field(i).Name, row, !null)
					}
				}
			}
		}
		if !slices.Equal(got, []bool{true, false, true}) {
			t.Errorf("%v: null images %v", steps, got)
		}
	}
}

func TestEmptyBlock(t *testing.T) {
	rt := newRuntime(t)
	full := images(t, rt, "cat.jpg")
	defer full.Release()
	for _, steps := range [][]string{{"decode"}, {"decode", "where width > 1", "resize 8x8", "encode jpeg"}} {
		if out := run(t, rt, chain(t, steps...), full.Slice(0, 0)); len(out) != 0 {
			t.Errorf("%v: %d blocks of an empty one", steps, len(out))
		}
	}
}

func TestSlicedBlock(t *testing.T) {
	rt := newRuntime(t)
	full := images(t, rt, "cat.jpg", "coffee.jpg", "rocket.jpg", "retina.jpg")
	defer full.Release()
	decoded := run(t, rt, op(t, "decode"), full.Slice(1, 2))
	if got := column(decoded, "path"); !slices.Equal(got, []string{"coffee.jpg", "rocket.jpg"}) {
		t.Fatalf("rows %v", got)
	}
	rt.blockBytes = 64 << 20
	decoded = run(t, rt, op(t, "decode"), full.Retain())
	out := run(t, rt, op(t, "phash"), decoded[0].Slice(2, 2))
	want := run(t, rt, op(t, "phash"), decoded[0].Retain())
	if got, all := column(out, "phash"), column(want, "phash"); !slices.Equal(got, all[2:]) {
		t.Errorf("hashes of a slice %v, of the whole %v", got, all)
	}
}

func TestFiltersOnHeadersRunBeforeDecoding(t *testing.T) {
	rt := newRuntime(t)
	spec := chain(t, "decode", `where width >= 600 and format == "jpeg" and path != "hubble.jpg"`, "resize 64x64", "encode jpeg 75")
	out := run(t, rt, spec, images(t, rt, "cat.jpg", "coffee.jpg", "hubble.jpg", "grass.png", "sub/tiny.jpg", "rocket.jpg", "broken/empty.jpg"))
	if got := column(out, "path"); !slices.Equal(got, []string{"coffee.jpg", "rocket.jpg"}) {
		t.Errorf("kept %v", got)
	}
	if got := column(out, "width"); !slices.Equal(got, []string{"600", "640"}) {
		t.Errorf("widths %v, want those of the files", got)
	}
	if len(rt.failures) != 1 || rt.failures["broken/empty.jpg"] == nil {
		t.Errorf("failures %v, want the empty file", rt.failures)
	}
	if spec.(dataset.OneToOne).RowsOneToOne() {
		t.Error("a program with a filter says that it is one to one")
	}
}

// TestComposedEqualsStepwise compares a composed program with its steps run one after the other, on all columns that are not pixels;
// the pixels are compared in package imaging.
func TestComposedEqualsStepwise(t *testing.T) {
	exp, names := expected(t)
	names = slices.DeleteFunc(names, func(n string) bool { return !exp[n].OK })
	for _, steps := range [][]string{
		{"decode", "resize 224x224", "encode jpeg 75"},
		{"decode", "where width >= 300", "resize 100x50 fill", "score", "encode png"},
		{"decode", "phash", "resize 64x64 fit", "encode jpeg 90"},
		{"decode mode=grey", "crop 90x90", "score prefix=s_", "resize 32x32"},
		{"decode mode=rgba", "convert rgb", "resize 16x16", "to-tensor 16x16 layout=hwc"},
		{"decode mode=keep", "phash method=dct", "crop 20x20+3+5"},
	} {
		rt := newRuntime(t)
		composed := run(t, rt, chain(t, steps...), images(t, rt, names...))
		blocks := []*block.Block{images(t, rt, names...)}
		for i, s := range steps {
			if i > 0 {
				blocks = retained(blocks)
			}
			blocks = run(t, rt, op(t, s), blocks...)
		}
		compareBlocks(t, steps, composed, blocks)
	}
}

func compareBlocks(t *testing.T, steps []string, a, b []*block.Block) {
	t.Helper()
	if !a[0].Schema().Equal(b[0].Schema()) {
		t.Errorf("%v: schema %v, step by step %v", steps, a[0].Schema(), b[0].Schema())
		return
	}
	for _, f := range a[0].Schema().Fields() {
		if f.Name == "image" {
			continue
		}
		av, bv := column(a, f.Name), column(b, f.Name)
		if len(av) != len(bv) {
			t.Errorf("%v: %d and %d rows", steps, len(av), len(bv))
			return
		}
		for i := range av {
			if av[i] != bv[i] && !near(f, av[i], bv[i]) {
				t.Errorf("%v: column %s of row %d is %s, step by step %s", steps, f.Name, i, av[i], bv[i])
			}
		}
	}
}

// near allows scores and hashes what ComposedTolerance of the pixels makes of them.
func near(f arrow.Field, a, b string) bool {
	if f.Type.ID() == arrow.UINT64 {
		x, xerr := strconv.ParseUint(a, 10, 64)
		y, yerr := strconv.ParseUint(b, 10, 64)
		n := 0
		for d := x ^ y; d != 0; d &= d - 1 {
			n++
		}
		return xerr == nil && yerr == nil && n <= 2
	}
	x, xerr := strconv.ParseFloat(a, 64)
	y, yerr := strconv.ParseFloat(b, 64)
	return xerr == nil && yerr == nil && f.Type.ID() == arrow.FLOAT64 && max(x-y, y-x) <= 0.1+0.25*max(x, y)
}

func TestSchemaErrorsNameTheColumn(t *testing.T) {
	rt := newRuntime(t)
	files := images(t, rt, "cat.jpg")
	defer files.Release()
	decoded, err := op(t, "decode").Check([]*arrow.Schema{files.Schema()})
	if err != nil {
		t.Fatal(err)
	}
	text := arrow.NewSchema([]arrow.Field{{Name: "image", Type: arrow.BinaryTypes.String}, {Name: "width", Type: arrow.PrimitiveTypes.Int32}}, nil)
	raw := arrow.NewSchema([]arrow.Field{{Name: "image", Type: arrow.BinaryTypes.Binary}, {Name: "width", Type: arrow.PrimitiveTypes.Int32}}, nil)
	for _, tt := range []struct {
		step string
		in   *arrow.Schema
		want []string
	}{
		{"resize 2x2", files.Schema(), []string{`"image"`, "put decode before resize"}},
		{"phash", text, []string{`"image"`, "want pixels"}},
		{"decode", decoded, []string{`"image"`, "decoded already"}},
		{"decode", text, []string{`"image"`, "want image or binary"}},
		{"decode", raw, []string{`"width"`, "exists already", "rename"}},
		{"decode in=imag", files.Schema(), []string{`"imag"`, `did you mean "image"`}},
		{"mark-duplicates phash 6", decoded, []string{`"phash"`, "put phash before"}},
		{"mark-duplicates width 6", decoded, []string{`"width"`, "uint64"}},
	} {
		_, err := op(t, tt.step).Check([]*arrow.Schema{tt.in})
		for _, w := range tt.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v lacks %q", tt.step, err, w)
			}
		}
	}
}

func TestParameterErrors(t *testing.T) {
	for text, want := range map[string]string{
		"resize 224": "224x224", "resize 0x5": "1 to 65535", "resize 10x10 cover": "exact, fit or fill", "resize 70000x1": "65535",
		"crop 10x10+1": "+X+Y", "crop axb": "WIDTHxHEIGHT", "convert keep": "rgb, grey or rgba", "convert": "rgb, grey or rgba",
		"encode tiff": "jpeg, png or webp", "encode jpeg 101": "1..100", "encode png 9": "lossless", "decode mode=hsv": "rgb, grey, rgba or keep",
		"phash method=x": "local or dct", "mark-duplicates phash 65": "0..64", "to-tensor 2x2 channels=2": "1, 3 or 4",
		"to-tensor 2x2 mean=1,2": "want 1 or 3", "to-tensor 2x2 std=0": "std", "to-tensor 2x2 layout=x": "chw or hwc", "decode max_pixels=-1": "negative",
	} {
		if _, err := parseOp(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v lacks %q", text, err, want)
		}
	}
}

func TestColumnsInAndOut(t *testing.T) {
	rt := newRuntime(t)
	out := run(t, rt, op(t, "decode out=pixels"), images(t, rt, "cat.jpg"))
	out = run(t, rt, op(t, "resize 10x10 in=pixels out=thumb"), retained(out)...)
	out = run(t, rt, op(t, "encode png in=thumb"), retained(out)...)
	out = run(t, rt, op(t, "phash in=pixels out=h"), retained(out)...)
	var names []string
	for _, f := range out[0].Schema().Fields() {
		names = append(names, f.Name+" "+f.Type.String())
	}
	want := []string{"path utf8", "image image", "pixels pixels", "width int32", "height int32", "format utf8", "thumb image", "h uint64"}
	if !slices.Equal(names, want) {
		t.Errorf("columns %v, want %v", names, want)
	}
}

func TestComposeRefuses(t *testing.T) {
	for _, tt := range [][2]string{
		{"decode", "decode"}, {"decode", "resize 2x2 in=other"}, {"decode", "resize 2x2 out=thumb"}, {"encode jpeg", "resize 2x2"},
		{"resize 2x2 out=b", "crop 1x1 in=b"}, {"phash", "phash out=x"}, {"to-tensor 2x2", "phash"}, {"decode", "where image == nil"},
		{"resize 2x2", "where width > 1"}, {"decode out=p", "where image == nil"},
	} {
		if _, ok := op(t, tt[0]).(dataset.Composer).Compose(op(t, tt[1])); ok {
			t.Errorf("%s took over %s", tt[0], tt[1])
		}
	}
	if _, ok := chain(t, "decode", "score").(dataset.Composer).Compose(op(t, "where blur > 10")); ok {
		t.Error("a program took over a filter on a score of its own")
	}
}

func TestCapabilities(t *testing.T) {
	p := op(t, "decode").(*Program)
	if p.CommutesWithFilter([]string{"width"}) || p.CommutesWithFilter([]string{"image"}) || !p.CommutesWithFilter([]string{"path"}) {
		t.Error("decode commutes with the wrong filters")
	}
	if r := op(t, "resize 2x2").(*Program); !r.CommutesWithFilter([]string{"width"}) || r.CommutesWithFilter([]string{"image"}) {
		t.Error("resize commutes with the wrong filters")
	}
	in := arrow.NewSchema([]arrow.Field{{Name: "path", Type: arrow.BinaryTypes.String}, {Name: "image", Type: block.Image}, {Name: "x", Type: arrow.BinaryTypes.String}}, nil)
	if got := p.Columns(in, []string{"path", "width"}); !slices.Equal(got, []string{"path", "image"}) {
		t.Errorf("decode needs %v", got)
	}
	m := op(t, "mark-duplicates phash 6")
	if w, ok := m.(dataset.WantsOrder); !ok || !w.WantsOrder() || m.Instances() != dataset.One {
		t.Error("mark-duplicates must be one instance in source order")
	}
}

func TestTensor(t *testing.T) {
	rt := newRuntime(t)
	out := run(t, rt, chain(t, "decode", "resize 4x2", "to-tensor 4x2 mean=0.5 std=0.5"), images(t, rt, "sub/flat.jpg"))
	pix := run(t, rt, chain(t, "decode", "resize 4x2"), images(t, rt, "sub/flat.jpg"))
	list := out[0].ColumnByName("image").(array.ExtensionArray).Storage().(*array.FixedSizeList)
	values := list.ListValues().(*array.Float32).Float32Values()
	data := pix[0].ColumnByName("image").(array.ExtensionArray).Storage().(*array.Struct).Field(0).(*array.Binary).Value(0)
	if len(values) != 24 || len(data) != 24 {
		t.Fatalf("%d values of %d samples, want 24", len(values), len(data))
	}
	for i, v := range values {
		c, xy := i/8, i%8
		if want := (float32(data[xy*3+c])/255 - 0.5) / 0.5; v != want {
			t.Errorf("value %d is %v, want %v", i, v, want)
		}
	}
	run(t, rt, op(t, "to-tensor 5x5"), retained(pix)...)
	if err := rt.failures["sub/flat.jpg"]; err == nil || !strings.Contains(err.Error(), "put resize 5x5 before") {
		t.Errorf("wrong size: %v", err)
	}
}

func TestLimitsAreParameters(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, op(t, "decode max_pixels=1000"), images(t, rt, "cat.jpg"))
	if err := rt.failures["cat.jpg"]; err == nil || !strings.Contains(err.Error(), "above the limit of 1000") {
		t.Errorf("pixels: %v", err)
	}
	run(t, rt, op(t, "decode max_bytes=1KB"), images(t, rt, "coffee.jpg"))
	if err := rt.failures["coffee.jpg"]; err == nil || !strings.Contains(err.Error(), "max_bytes") {
		t.Errorf("bytes: %v", err)
	}
}

func TestScratchIsReserved(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, op(t, "decode"), images(t, rt, "hubble.jpg"))
	if rt.peak < 1000*872*3 {
		t.Errorf("reserved %d bytes for a picture of %d", rt.peak, 1000*872*3)
	}
	rt.limit = 1 << 20
	_, err := tryRun(t, rt, op(t, "decode"), images(t, rt, "hubble.jpg"))
	if err == nil || !strings.Contains(err.Error(), "reserve") || len(rt.failures) != 0 {
		t.Errorf("refused reservation: error %v, failures %v", err, rt.failures)
	}
}

// tooLarge is what an engine says of a row that its budget can never hold.
type tooLarge struct{}

func (tooLarge) Error() string { return "needs 9GiB at once, and the memory budget is 1GiB" }
func (tooLarge) Class() string { return "row too large for the memory budget" }

func TestRowAboveTheBudgetIsARowError(t *testing.T) {
	rt := newRuntime(t)
	rt.limit, rt.refusal = 6<<20, tooLarge{}
	out := run(t, rt, op(t, "decode"), images(t, rt, "sub/tiny.jpg", "hubble.jpg", "sub/flat.jpg"))
	if got := column(out, "path"); !slices.Equal(got, []string{"sub/tiny.jpg", "sub/flat.jpg"}) {
		t.Errorf("kept %v", got)
	}
	if err := rt.failures["hubble.jpg"]; dataset.ClassOf(err) != "row too large for the memory budget" {
		t.Errorf("failures %v", rt.failures)
	}
}

func TestStopFromEmit(t *testing.T) {
	rt := newRuntime(t)
	b := images(t, rt, "cat.jpg", "coffee.jpg")
	defer b.Release()
	rt.blockBytes = 1
	o, err := op(t, "decode").New([]*arrow.Schema{b.Schema()})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Open(t.Context(), rt); err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	n := 0
	err = o.Process(t.Context(), 0, b, func(b *block.Block) error { n++; b.Release(); return dataset.ErrStop })
	if !errors.Is(err, dataset.ErrStop) || n != 1 {
		t.Errorf("emitted %d blocks, error %v", n, err)
	}
}
