package imaging

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// muxItem is an item of a HEIF file that a test makes.
type muxItem struct {
	kind  string
	data  []byte
	idat  bool
	props []int // from 1
	refs  map[string][]int
}

func be(n int, v int) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(v))
	return b[8-n:]
}

func box(kind string, parts ...[]byte) []byte {
	out := append(be(4, 0), kind...)
	for _, p := range parts {
		out = append(out, p...)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)))
	return out
}

func join(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// mux makes a file of items, numbered from 1, the first of which is the picture.
func mux(brand string, props [][]byte, items ...muxItem) []byte {
	full := be(4, 0)
	ftyp := box("ftyp", []byte(brand), full, []byte("mif1"), []byte(brand))
	build := func(start int) (meta, mdat []byte) {
		var infos, places, refs, idat, assoc []byte
		for i, it := range items {
			infos = append(infos, box("infe", be(4, 2<<24), be(2, i+1), be(2, 0), []byte(it.kind), []byte{0})...)
			at, method := start+len(mdat), 0
			if it.idat {
				at, method = len(idat), 1
				idat = append(idat, it.data...)
			} else {
				mdat = append(mdat, it.data...)
			}
			places = append(places, join(be(2, i+1), be(2, method), be(2, 0), be(2, 1), be(4, at), be(4, len(it.data)))...)
			for kind, to := range it.refs {
				r := join(be(2, i+1), be(2, len(to)))
				for _, id := range to {
					r = append(r, be(2, id)...)
				}
				refs = append(refs, box(kind, r)...)
			}
			assoc = append(assoc, join(be(2, i+1), be(1, len(it.props)))...)
			for _, p := range it.props {
				if kind := string(props[p-1][4:8]); kind != "ispe" {
					p |= 0x80 // essential
				}
				assoc = append(assoc, byte(p))
			}
		}
		var more []byte // boxes that must not be empty
		if refs != nil {
			more = box("iref", full, refs)
		}
		if idat != nil {
			more = append(more, box("idat", idat)...)
		}
		meta = box("meta", full,
			box("hdlr", full, full, []byte("pict"), make([]byte, 13)),
			box("pitm", full, be(2, 1)),
			box("iloc", be(4, 1<<24), []byte{0x44, 0}, be(2, len(items)), places),
			box("iinf", full, be(2, len(items)), infos),
			box("iprp", box("ipco", join(props...)), box("ipma", full, be(4, len(items)), assoc)), more)
		return meta, mdat
	}
	meta, _ := build(0)
	meta, mdat := build(len(ftyp) + len(meta) + 8)
	return join(ftyp, meta, box("mdat", mdat))
}

// stream returns the coded picture of a fixture and the properties to decode it with.
func stream(t testing.TB, name string) (data, config []byte, w, h int) {
	t.Helper()
	f, err := readHEIF(fixture(t, name))
	if err != nil {
		t.Fatal(err)
	}
	it := f.items[f.primary]
	if data, err = f.bytes(f.primary, it); err != nil {
		t.Fatal(err)
	}
	f.each(it, func(p heifProperty) {
		switch p.kind {
		case "av1C", "hvcC":
			config = box(p.kind, p.body)
		case "ispe":
			w, h, _ = spatial(p)
		}
	})
	return data, config, w, h
}

func ispe(w, h int) []byte { return box("ispe", be(4, 0), be(4, w), be(4, h)) }

func grid(cols, rows, w, h int) []byte {
	return join([]byte{0, 0, byte(rows - 1), byte(cols - 1)}, be(2, w), be(2, h))
}

// tiled is a file whose picture is a grid of the same tile.
func tiled(t testing.TB, cols, rows, w, h int) []byte {
	data, config, tw, th := stream(t, "tile.avif")
	tiles := []int{}
	items := []muxItem{{kind: "grid", data: grid(cols, rows, w, h), idat: true, props: []int{1}}}
	for range cols * rows {
		tiles = append(tiles, len(items)+1)
		items = append(items, muxItem{kind: "av01", data: data, props: []int{2, 3}})
	}
	items[0].refs = map[string][]int{"dimg": tiles}
	return mux("avif", [][]byte{ispe(w, h), ispe(tw, th), config}, items...)
}

func TestGridOfTiles(t *testing.T) {
	for _, w := range []*Worker{NewWorker(), NewStandardWorker()} {
		tile, err := decodeWith(w, fixture(t, "tile.avif"), ModeRGB)
		if err != nil {
			t.Fatal(err)
		}
		tile = clone(t, tile)
		// The last column and row of tiles are shown in part.
		got, err := decodeWith(w, tiled(t, 3, 2, 64*3-9, 64*2-5), ModeRGB)
		if err != nil {
			t.Fatal(err)
		}
		if got.W != 64*3-9 || got.H != 64*2-5 {
			t.Fatalf("picture is %dx%d", got.W, got.H)
		}
		for _, at := range [][2]int{{0, 0}, {63, 63}, {64, 0}, {100, 80}, {182, 122}} {
			for c := range 3 {
				a, b := got.Pix[0][at[1]*got.Stride[0]+at[0]*3+c], tile.Pix[0][at[1]%64*tile.Stride[0]+at[0]%64*3+c]
				if d := int(a) - int(b); d < -2 || d > 2 {
					t.Errorf("pixel %v channel %d is %d, in the tile %d", at, c, a, b)
				}
			}
		}
		w.Close()
	}
}

func TestCleanAperture(t *testing.T) {
	data, config, tw, th := stream(t, "full.avif")
	frac := func(n, d int) []byte { return join(be(4, n), be(4, d)) }
	clap := func(w, h, x, y int) []byte { // x and y: how far the centre is moved, in halves
		return box("clap", frac(w, 1), frac(h, 1), frac(x, 2), frac(y, 2))
	}
	turn := box("irot", []byte{1})
	props := [][]byte{ispe(tw, th), config, clap(31, 21, -10, 4), turn, clap(99, 9, 0, 0)}
	item := func(p ...int) []byte {
		return mux("avif", props, muxItem{kind: "av01", data: data, props: append([]int{1, 2}, p...)})
	}
	w := NewStandardWorker()
	defer w.Close()
	whole, err := decodeWith(w, fixture(t, "full.avif"), ModeRGB)
	if err != nil {
		t.Fatal(err)
	}
	whole = clone(t, whole)
	got, err := decodeWith(w, item(3), ModeRGB)
	if err != nil || got.W != 31 || got.H != 21 {
		t.Fatalf("%v, %+v", err, got)
	}
	// 61 wide, 31 kept, centre moved by -5: from 10 on; 47 high, 21 kept, moved by 2: from 15 on.
	if a, b := got.Pix[0][0], whole.Pix[0][15*whole.Stride[0]+10*3]; a != b {
		t.Errorf("first sample is %d, want %d", a, b)
	}
	if got, err = decodeWith(w, item(3, 4), ModeRGB); err != nil || got.W != 21 || got.H != 31 {
		t.Fatalf("cut and turned: %v, %+v", err, got)
	}
	if _, err = decodeWith(w, item(4, 3), ModeRGB); !errors.Is(err, ErrUnsupported) {
		t.Errorf("turned and cut: %v", err)
	}
	if _, err = decodeWith(w, item(5), ModeRGB); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "61x47") {
		t.Errorf("cut beyond the picture: %v", err)
	}
}

// TestHEIFIsBoundedBeforeDecoding gives files that announce more than they may, at each place where a decoder would believe them.
func TestHEIFIsBoundedBeforeDecoding(t *testing.T) {
	data, config, tw, th := stream(t, "full.avif")
	hevc, hvcC, hw, hh := stream(t, "rgb.heic")
	limits := Limits{MaxPixels: 10_000, MaxBytes: 1 << 20}
	loop := []muxItem{{kind: "grid", data: grid(1, 1, tw, th), idat: true, props: []int{1}, refs: map[string][]int{"dimg": {1}}}}
	many := make([]int, 256*256)
	for i := range many {
		many[i] = 2
	}
	for name, c := range map[string]struct {
		file []byte
		is   error
		say  string
	}{
		"announced size":       {mux("avif", [][]byte{ispe(60000, 60000), config}, muxItem{kind: "av01", data: data, props: []int{1, 2}}), ErrTooLarge, "60000x60000"},
		"coded size, AV1":      {mux("avif", [][]byte{ispe(8, 8), av1Header(t, config, 50000, 40000)}, muxItem{kind: "av01", data: data, props: []int{1, 2}}), ErrTooLarge, "50000x40000"},
		"coded size, HEVC":     {mux("heic", [][]byte{ispe(hw, hh), hvcC}, muxItem{kind: "hvc1", data: join(be(4, len(bigSPS)), bigSPS, hevc), props: []int{1, 2}}), ErrTooLarge, "announces"},
		"grid":                 {mux("avif", [][]byte{ispe(tw, th), config}, muxItem{kind: "grid", data: grid(1, 1, 65535, 65535), idat: true, props: []int{1}, refs: map[string][]int{"dimg": {2}}}, muxItem{kind: "av01", data: data, props: []int{1, 2}}), ErrCorrupt, "65535x65535"},
		"tiles":                {mux("avif", [][]byte{ispe(tw, th), config}, muxItem{kind: "grid", data: grid(256, 256, tw, th), idat: true, props: []int{1}, refs: map[string][]int{"dimg": many[:65535]}}, muxItem{kind: "av01", data: data, props: []int{1, 2}}), ErrCorrupt, "65535"},
		"many tiles":           {mux("avif", [][]byte{ispe(tw, th), config}, muxItem{kind: "grid", data: grid(100, 100, tw, th), idat: true, props: []int{1}, refs: map[string][]int{"dimg": many[:10000]}}, muxItem{kind: "av01", data: data, props: []int{1, 2}}), ErrTooLarge, "coded pixels"},
		"grid of itself":       {mux("avif", [][]byte{ispe(tw, th), config}, loop...), ErrTooLarge, "made of pictures"},
		"no size":              {mux("avif", [][]byte{config}, muxItem{kind: "av01", data: data, props: []int{1}}), ErrCorrupt, "no size"},
		"no codec description": {mux("avif", [][]byte{ispe(tw, th)}, muxItem{kind: "av01", data: data, props: []int{1}}), ErrCorrupt, "codec"},
		"another codec":        {mux("mif1", [][]byte{ispe(tw, th)}, muxItem{kind: "j2k1", data: data, props: []int{1}}), ErrUnsupported, "j2k1"},
		"bytes beyond the end": {fixture(t, "full.avif")[:900], ErrTruncated, "900 bytes"},
	} {
		_, err := ReadHeader(c.file, limits)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v; want %v with %q", name, err, c.is, c.say)
		}
	}
}

// av1Header puts a sequence header of another size into a codec description.
func av1Header(t testing.TB, config []byte, w, h int) []byte {
	t.Helper()
	var bits []byte
	put := func(n, v int) {
		for i := n - 1; i >= 0; i-- {
			bits = append(bits, byte(v>>i&1))
		}
	}
	put(3, 1) // profile
	put(2, 3) // still, reduced
	put(5, 0)
	put(4, 15)
	put(4, 15)
	put(16, w-1)
	put(16, h-1)
	put(32, 0)
	obu := make([]byte, (len(bits)+7)/8)
	for i, b := range bits {
		obu[i/8] |= b << (7 - i%8)
	}
	return box("av1C", config[8:12], []byte{1<<3 | 2, byte(len(obu))}, obu)
}

// bigSPS is a sequence parameter set of 8192x8192 pixels.
var bigSPS = func() []byte {
	var bits []byte
	put := func(n, v int) {
		for i := n - 1; i >= 0; i-- {
			bits = append(bits, byte(v>>i&1))
		}
	}
	golomb := func(v int) {
		n := 0
		for (v+1)>>(n+1) > 0 {
			n++
		}
		put(n, 0)
		put(n+1, v+1)
	}
	put(4+3+1, 1)
	for range 96 { // profile and level, without bytes that need to be kept apart
		put(1, 1)
	}
	golomb(0)
	golomb(1)
	golomb(8192)
	golomb(8192)
	put(8, 0xff)
	out := make([]byte, (len(bits)+7)/8)
	for i, b := range bits {
		out[i/8] |= b << (7 - i%8)
	}
	return append([]byte{hevcSPS << 1, 1}, out...)
}()
