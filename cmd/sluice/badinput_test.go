package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// badImages makes pictures that are broken, hostile or merely odd.
func badImages(t *testing.T) map[string][]byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 60, 40))
	for i := range img.Pix {
		img.Pix[i] = byte(i * 7)
	}
	deep := image.NewRGBA64(img.Bounds())
	deep.SetRGBA64(3, 4, color.RGBA64{R: 0x1234, G: 0xffff, B: 0xabcd, A: 0xffff})
	encode := func(f func(*bytes.Buffer) error) []byte {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	jpg := encode(func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) })
	frames := &gif.GIF{}
	for range 3 {
		frames.Image = append(frames.Image, image.NewPaletted(img.Bounds(), color.Palette{color.Black, color.White}))
		frames.Delay = append(frames.Delay, 1)
	}
	// The size stands four bytes behind the start of frame: length, precision, height, width.
	giga := bytes.Clone(jpg)
	binary.BigEndian.PutUint32(giga[bytes.Index(giga, []byte{0xff, 0xc0})+5:], 65500<<16|65500)
	exif := append([]byte("Exif\x00\x00MM\x00*\xff\xff\xff\xff"), bytes.Repeat([]byte{0xff}, 20)...)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	return map[string][]byte{
		"truncated.jpg": jpg[:len(jpg)/2],
		"empty.jpg":     nil,
		"text.jpg":      []byte("this is no picture\n"),
		"giga.jpg":      giga,
		"giga.png":      gigaPNG(),
		"is-a-png.jpg":  encode(func(b *bytes.Buffer) error { return png.Encode(b, img) }),
		"deep.png":      encode(func(b *bytes.Buffer) error { return png.Encode(b, deep) }),
		"animated.gif":  encode(func(b *bytes.Buffer) error { return gif.EncodeAll(b, frames) }),
		"exif.jpg":      append(append(bytes.Clone(jpg[:2]), segment...), jpg[2:]...),
	}
}

// gigaPNG is a sound header of a picture of 10 gigapixels and next to nothing behind it.
func gigaPNG() []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, data []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		body := append([]byte(kind), data...)
		out = binary.BigEndian.AppendUint32(append(out, body...), crc32.ChecksumIEEE(body))
	}
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 100_000), 100_000)
	chunk("IHDR", append(size, 8, 2, 0, 0, 0))
	chunk("IDAT", []byte{0x78, 0x9c, 3, 0, 0, 0, 0, 1})
	chunk("IEND", nil)
	return out
}

// TestBadImages: odd pictures are read, broken ones end the run or leave it as the policy says, with a cause that names the file.
func TestBadImages(t *testing.T) {
	dir := t.TempDir()
	for name, data := range badImages(t) {
		write(t, filepath.Join(dir, name), string(data))
	}
	sound := map[string]string{"is-a-png.jpg": "png", "deep.png": "png", "animated.gif": "gif", "exif.jpg": "jpeg"}
	broken := map[string][]string{
		"truncated.jpg": {"data is truncated", "jpeg file ends after"},
		"empty.jpg":     {"file is empty (0 bytes)"},
		"text.jpg":      {"not an image", `starts with "this is no pictu"`, "want JPEG, PNG"},
		"giga.jpg":      {"65500x65500 = 4290250000 pixels", "above the limit of 100000000", "raise max_pixels"},
		"giga.png":      {"100000x100000", "above the limit of 100000000", "raise max_pixels"},
	}
	out, errs, code := run(t, dir, "", "--on-error", "skip", "*.* | decode | select path, width, height, format | -")
	if code != 0 || strings.Count(out, "\n") != len(sound) || !strings.Contains(errs, "5 rows failed and were left out") {
		t.Errorf("code %d, stdout:\n%s\nstderr:\n%s", code, out, errs)
	}
	for name, format := range sound {
		if want := `{"path":"` + name + `","width":60,"height":40,"format":"` + format + `"}`; !strings.Contains(out, want) {
			t.Errorf("%s is missing in:\n%s", want, out)
		}
	}
	for name, words := range broken {
		_, one, code := run(t, dir, "", name+" | decode | o.parquet")
		if code != 1 {
			t.Errorf("%s: code %d", name, code)
		}
		for _, w := range append(words, name) {
			if !strings.Contains(one, w) || !strings.Contains(errs, w) {
				t.Errorf("%s: %q is missing in\n%s\nor in\n%s", name, w, one, errs)
			}
		}
		nothingAt(t, dir, "o.parquet")
	}
}

// TestIsolate: pictures decoded in child processes give what they give here, broken ones too.
func TestIsolate(t *testing.T) {
	dir := t.TempDir()
	for name, data := range badImages(t) {
		write(t, filepath.Join(dir, name), string(data))
	}
	pipeline := `*.* | decode | where width > 10 | resize 20x10 | encode png | select path, width, format, image | -`
	plain, plainErrs, code := run(t, dir, "", "--on-error", "skip", pipeline)
	if code != 0 || plain == "" {
		t.Fatal(plainErrs)
	}
	out, errs, code := run(t, dir, "", "--on-error", "skip", "--isolate", pipeline)
	if code != 0 || out != plain {
		t.Errorf("code %d; isolated steps give\n%s\nwant\n%s\n%s", code, out, plain, errs)
	}
	causes := func(s string) string { _, s, _ = strings.Cut(s, "\n"); return s } // without the line that has times
	if causes(errs) != causes(plainErrs) {
		t.Errorf("isolated steps say\n%s\nwant\n%s", errs, plainErrs)
	}
	if _, errs, code := run(t, dir, "", "--isolate-timeout", "5s", pipeline); code != 2 || !strings.Contains(errs, "--isolate-timeout") {
		t.Errorf("a time without --isolate: code %d, %s", code, errs)
	}
}

// nothingAt fails when a result, or a part of one, is to be seen.
func nothingAt(t *testing.T, dir, name string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(dir, name)); !os.IsNotExist(err) {
		t.Errorf("%s is there after a failed run (%v)", name, err)
	}
}

// TestBadTables: tables that lie, with the words that the message must have.
func TestBadTables(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in.jsonl"), strings.Repeat(`{"id":1,"s":"text"}`+"\n", 500))
	if _, errs, code := run(t, dir, "", "in.jsonl | ok.parquet"); code != 0 {
		t.Fatal(errs)
	}
	good, err := os.ReadFile(filepath.Join(dir, "ok.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	n := len(good)
	absurd := append(bytes.Clone(good[:n-8]), 0xff, 0xff, 0xff, 0x7f, 'P', 'A', 'R', '1')
	garbage := bytes.Clone(good)
	for i := n - 100; i < n-8; i++ {
		garbage[i] ^= 0xa5
	}
	flipped := bytes.Clone(good)
	for i := 8; i < 60; i++ {
		flipped[i] ^= 0xff
	}
	for _, c := range []struct {
		name, data string
		words      []string
	}{
		{"torn.parquet", string(good[:n-20]), []string{"torn.parquet", "footer is torn", "cut off or is still being written"}},
		{"absurd.parquet", string(absurd), []string{"absurd.parquet", "claims 2147483647 bytes", "room for"}},
		{"garbage.parquet", string(garbage), []string{"garbage.parquet", "read footer"}},
		{"flipped.parquet", string(flipped), []string{"flipped.parquet", `row group 0: column "id"`}},
		{"empty.parquet", "", []string{"empty.parquet"}},
		{"mixed.jsonl", "{\"a\":1}\n{\"a\":\"x\"}\n", []string{`column "a"`, "a whole number in", "a string in", "line 2", `schema="a:string"`, "mixed=string"}},
		{"deep.jsonl", `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}\n", []string{"line 1", "nested too deep", "max_depth=128"}},
		{"long.jsonl", `{"a":"` + strings.Repeat("x", 100<<20) + "\"}\n", []string{"line 1", "longer than max_line=32MiB", "raise max_line"}},
		{"surrogate.jsonl", `{"a":"\ud800"}` + "\n", []string{"line 1, byte 7", "lone surrogate", "invalid=replace"}},
		{"wide.jsonl", strings.Repeat("{\"a\":1}\n", 300_000) + `{"a":9223372036854775808}` + "\n", []string{"line 300001", `column "a"`, "9223372036854775808", `schema="a:uint64"`}},
		{"late.jsonl", strings.Repeat("{\"a\":1}\n", 300_000) + "{\"a\":\"x\"}\n", []string{"late.jsonl", "line 300001", `column "a"`, `"x" is a string, and the column is int64`, `schema="a:string"`}},
		{"torn.jsonl", "{\"a\":1}\n{\"a\":", []string{"torn.jsonl", "line 2, byte 6", "the line ends inside a value"}},
	} {
		write(t, filepath.Join(dir, c.name), c.data)
		_, errs, code := run(t, dir, "", "--memory", "64MiB", c.name+" | o.csv")
		if code == 0 {
			t.Errorf("%s: it passed", c.name)
		}
		for _, w := range c.words {
			if !strings.Contains(errs, w) {
				t.Errorf("%s: %q is missing in\n%s", c.name, w, errs)
			}
		}
		nothingAt(t, dir, "o.csv")
	}
}

// TestFullDisk: standard output and a result that cannot grow end with the cause, and nothing is to be seen.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Logf("no /dev/full on this system: %v", err)
		return
	}
	dir := events(t, 50_000)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	c := command(t, dir, "events.jsonl | -")
	var errs bytes.Buffer
	c.Stdout, c.Stderr = full, &errs
	if err := c.Run(); err == nil || !strings.Contains(errs.String(), "no space left on device") {
		t.Errorf("%v: %s", err, &errs)
	}
}

// TestTooLittleMemory: a budget in which nothing fits is refused with the number that is needed.
func TestTooLittleMemory(t *testing.T) {
	dir := events(t, 10)
	for _, c := range []struct {
		memory, pipeline string
		words            []string
	}{
		{"1MiB", "events.jsonl | o.parquet", []string{"--memory", "the least is 16 MiB"}},
		{"16MiB", "events.jsonl" + strings.Repeat(" | sort id | repartition 10", 40) + " | o.parquet", []string{"--memory is 16.0 MiB", "82 stages need", "raise --memory"}},
	} {
		_, errs, code := run(t, dir, "", "--memory", c.memory, c.pipeline)
		if code != 2 {
			t.Errorf("--memory %s: code %d", c.memory, code)
		}
		for _, w := range c.words {
			if !strings.Contains(errs, w) {
				t.Errorf("--memory %s: %q is missing in\n%s", c.memory, w, errs)
			}
		}
		nothingAt(t, dir, "o.parquet")
	}
}
