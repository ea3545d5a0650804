package file_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
)

// compressions are all of them, with the commands that read and write them where a machine has them.
var compressions = []struct{ name, suffix, module, command string }{
	{"gzip", ".gz", "gzip", "gzip"}, {"bzip2", ".bz2", "bz2", "bzip2"}, {"xz", ".xz", "lzma", "xz"}, {"zstd", ".zst", "", "zstd"}, {"lz4", ".lz4", "", "lz4"},
}

// packed compresses text.
func packed(tb testing.TB, name string, text []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	z, err := file.Compress(&b, name)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := z.Write(text); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// openText opens a file that holds data and is named name.
func openText(t *testing.T, name string, data []byte) *file.Text {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, data, 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := file.Local{}.Stat(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	x, err := file.NewSet(file.Local{}, nil).OpenText(t.Context(), info.FileRef, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// lines is text of n lines that is worth compressing.
func lines(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%d,%x,line %d of many\n", i, i*i*2654435761, i%7)
	}
	return b.Bytes()
}

// TestCompressions reads what was written, in one member and in several, named and unnamed, and nothing at all.
func TestCompressions(t *testing.T) {
	long := lines(60_000)
	for _, c := range compressions {
		t.Run(c.name, func(t *testing.T) {
			one := packed(t, c.name, long)
			members := bytes.Join([][]byte{packed(t, c.name, long[:1000]), packed(t, c.name, nil), packed(t, c.name, long[1000:])}, nil)
			for what, x := range map[string]struct {
				name string
				data []byte
				want []byte
			}{
				"named":         {"a.txt" + c.suffix, one, long},
				"members":       {"a.txt" + c.suffix, members, long},
				"not named":     {"a.txt", one, long},
				"wrongly named": {"a.txt.gz", one, long},
				"empty":         {"a.txt" + c.suffix, packed(t, c.name, nil), nil},
			} {
				got, err := io.ReadAll(openText(t, x.name, x.data))
				if err != nil || !bytes.Equal(got, x.want) {
					t.Errorf("%s: %d bytes and %v, want %d", what, len(got), err, len(x.want))
				}
			}
			if got := file.Compression("https://host/a.csv" + c.suffix + "?sig=x"); got != c.name {
				t.Errorf("Compression is %q", got)
			}
			if got := file.Extension("dir/a.CSV" + strings.ToUpper(c.suffix)); got != "csv" {
				t.Errorf("Extension is %q", got)
			}
			if got := file.Sniff(one); got != c.name || !file.IsCompression(got) {
				t.Errorf("Sniff says %q", got)
			}
		})
	}
	_, err := io.ReadAll(openText(t, "a.txt.gz", []byte("plain text\n")))
	if d, ok := errors.AsType[*file.DamagedError](err); !ok || d.Short || !strings.Contains(d.Error(), "rename it if it is not compressed") {
		t.Errorf("plain text named .gz: %v", err)
	}
	if got := file.Sniff([]byte("BZhello,world\n1,2\n")); got != "jsonl" {
		t.Errorf("text that begins like bzip2 is taken for %s", got)
	}
}

// TestDamaged cuts and changes compressed files everywhere: never does a file pass for a shorter one, and what came before the fault is right.
func TestDamaged(t *testing.T) {
	text := lines(4000)
	for _, c := range compressions {
		t.Run(c.name, func(t *testing.T) {
			whole := packed(t, c.name, text)
			step := max(len(whole)/25, 1)
			for n := 0; n < len(whole); n += step {
				check(t, fmt.Sprintf("cut at %d of %d", n, len(whole)), c.suffix, whole[:n], text, false)
			}
			for n := len(whole) - 9; n < len(whole); n++ {
				check(t, fmt.Sprintf("cut at %d of %d", n, len(whole)), c.suffix, whole[:n], text, false)
			}
			for n := 0; n < len(whole); n += step {
				changed := bytes.Clone(whole)
				changed[n] ^= 0x55
				check(t, fmt.Sprintf("byte %d changed", n), c.suffix, changed, text, true)
			}
		})
	}
}

// check reads damaged data.
func check(t *testing.T, what, suffix string, data, text []byte, mayPass bool) {
	t.Helper()
	got, err := io.ReadAll(openText(t, "a.txt"+suffix, data))
	if err == nil && mayPass && bytes.Equal(got, text) {
		return // a byte that means nothing, such as a time stamp
	}
	d, ok := errors.AsType[*file.DamagedError](err)
	if !ok || d.Bytes != int64(len(got)) || !strings.HasSuffix(d.Path, "a.txt"+suffix) {
		t.Errorf("%s: %d of %d bytes and error %v", what, len(got), len(text), err)
		return
	}
	if !mayPass && (!d.Short || !bytes.HasPrefix(text, got)) {
		t.Errorf("%s: short is %v, error %v", what, d.Short, err)
	}
}

// TestBombs refuses files that ask for more memory than the limit, before it is taken.
func TestBombs(t *testing.T) {
	block := []byte("\x02\x00\x21\x01\x28\x00\x00\x00") // a header of xz whose dictionary is 4 GiB - 1
	block = binary.LittleEndian.AppendUint32(block, crc32.ChecksumIEEE(block))
	for what, data := range map[string]string{
		"a.txt.xz": "\xfd7zXZ\x00\x00\x01\x69\x22\xde\x36" + string(block),
		// a frame header of zstd whose window is 1 GiB
		"a.txt.zst": "\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00",
	} {
		_, err := io.ReadAll(openText(t, what, []byte(data)))
		if err == nil || !strings.Contains(err.Error(), "more memory than the limit of 128MiB") {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

const packScript = `
import importlib, sys
module, mode, source, target = sys.argv[1:]
m = importlib.import_module(module)
if mode == "pack":
    text = open(source, "rb").read()
    with m.open(target, "wb") as f: f.write(text[:5000])
    with m.open(target, "ab") as f: f.write(text[5000:])
else:
    with m.open(source, "rb") as f: open(target, "wb").write(f.read())
`

// TestPeersCompress exchanges files with Python's modules and with the commands of the formats, both ways, of several members.
func TestPeersCompress(t *testing.T) {
	text := lines(20_000)
	for _, c := range compressions {
		dir := t.TempDir()
		plain, ours, theirs, back := filepath.Join(dir, "plain"), filepath.Join(dir, "ours"+c.suffix), filepath.Join(dir, "theirs"+c.suffix), filepath.Join(dir, "back")
		members := append(packed(t, c.name, text[:7000]), packed(t, c.name, text[7000:])...)
		if err := errors.Join(os.WriteFile(plain, text, 0o644), os.WriteFile(ours, members, 0o644)); err != nil {
			t.Fatal(err)
		}
		compare := func(who string) {
			t.Helper()
			data, err := os.ReadFile(theirs)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(openText(t, "theirs"+c.suffix, data)); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s wrote %s: %d bytes and error %v", who, c.name, len(got), err)
			}
			if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s read %s: %d bytes and error %v", who, c.name, len(got), err)
			}
		}
		if c.module != "" {
			if python := connectortest.Python(t, c.module); python != "" {
				script := filepath.Join(dir, "pack.py")
				if err := os.WriteFile(script, []byte(packScript), 0o644); err != nil {
					t.Fatal(err)
				}
				connectortest.RunPython(t, python, script, c.module, "pack", plain, theirs)
				connectortest.RunPython(t, python, script, c.module, "unpack", ours, back)
				compare("Python")
			}
		}
		if _, err := exec.LookPath(c.command); err != nil {
			t.Logf("not compared with the command %s: the machine has none", c.command)
			continue
		}
		for _, x := range []struct {
			in, out string
			args    []string
		}{{plain, theirs, []string{"-c"}}, {ours, back, []string{"-dc"}}} {
			in, err := os.ReadFile(x.in)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), c.command, x.args...)
			cmd.Stdin = bytes.NewReader(in)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s %v: %v", c.command, x.args, err)
			}
			if err := os.WriteFile(x.out, out, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		compare(c.command)
	}
}
