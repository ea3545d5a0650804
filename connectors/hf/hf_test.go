package hf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/binary"
	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/images"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

func registry(tb testing.TB) *dataset.Registry {
	tb.Helper()
	reg := dataset.NewRegistry()
	if err := errors.Join(binary.Register(reg), csv.Register(reg), images.Register(reg), jsonl.Register(reg), Register(reg)); err != nil {
		tb.Fatal(err)
	}
	return reg
}

// put writes files below a new folder.
func put(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(content), 0o644)); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func openDir(tb testing.TB, dir string, opt Options) (dataset.Source, error) {
	tb.Helper()
	def, err := registry(tb).Source(Name)
	if err != nil {
		tb.Fatal(err)
	}
	return def.Open(tb.Context(), []dataset.Pattern{{Text: "hf:" + dir + "/"}}, &opt)
}

// TestSplits finds the files of splits by their names and by cards.
func TestSplits(t *testing.T) {
	row := func(s string) string { return fmt.Sprintf("{\"x\":%q}\n", s) }
	shards := map[string]string{
		"data/train-00000-of-00002.jsonl": row("t0"), "data/train-00001-of-00002.jsonl": row("t1"), "data/test-00000-of-00001.jsonl": row("e"),
		"data/validation.jsonl": row("v"), "notes.txt": "no reader", "dataset_infos.json": "",
	}
	card := func(yaml string) map[string]string {
		out := map[string]string{"README.md": "---\nlicense: mit\n" + yaml + "---\n# A set\n---\n"}
		for k, v := range shards {
			out[k] = v
		}
		return out
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		opt   Options
		want  string // values, or part of the error
		fails bool
	}{
		{"train is the default", shards, Options{}, "t0 t1", false},
		{"by name", shards, Options{Split: "test"}, "e", false},
		{"all", shards, Options{Split: "all"}, "e t0 t1 v", false},
		{"unknown", shards, Options{Split: "dev"}, "has the splits", true},
		{"folders", map[string]string{"train/a.jsonl": row("1"), "dev/b.jsonl": row("2"), "training_set.jsonl": row("3")}, Options{}, "1 3", false},
		{"words only", map[string]string{"restrained/a.jsonl": row("1"), "contest.jsonl": row("2")}, Options{}, "2 1", false},
		{"no split named", map[string]string{"a.jsonl": row("1"), "b/c.jsonl": row("2")}, Options{}, "1 2", false},
		{"no train", map[string]string{"test/a.jsonl": row("1"), "val/b.jsonl": row("2")}, Options{}, "pass split=", true},
		{"two kinds", map[string]string{"a.jsonl": row("1"), "b.csv": "x\n1\n"}, Options{}, "read them as two sources", true},
		{"nothing", map[string]string{"a.xyz": ""}, Options{}, "no data files", true},
		{"config, not asked for", shards, Options{Config: "c"}, "no README.md with configs", true},
		{"card: one pattern", card("configs:\n- config_name: default\n  data_files: \"data/v*.jsonl\"\n"), Options{}, "v", false},
		{"card: list", card("configs:\n- config_name: default\n  data_files: [data/validation.jsonl, \"data/test-*\"]\n"), Options{}, "v e", false},
		{"card: splits", card("configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/test-*\n  - split: odd\n    path: [data/train-00001*]\n"), Options{Split: "odd"}, "t1", false},
		{"card: map", card("configs:\n- config_name: a\n  data_files: {train: data/val*}\n"), Options{}, "v", false},
		{"card: two configs", card("configs:\n- config_name: a\n  data_files: x\n- config_name: b\n  data_files: y\n"), Options{}, "pass config=, one of a, b", true},
		{"card: chosen config", card("configs:\n- config_name: a\n  data_files: x\n- config_name: b\n  data_files: data/t*-00000-*\n"), Options{Config: "b"}, "e t0", false},
		{"card: default config", card("configs:\n- config_name: a\n  data_files: x\n- config_name: b\n  default: true\n  data_files: data/v*\n"), Options{}, "v", false},
		{"card: data_dir", map[string]string{"README.md": "---\nconfigs:\n- config_name: default\n  data_dir: en\n---\n", "en/a.jsonl": row("1"), "de/b.jsonl": row("2")}, Options{}, "1", false},
		{"card: nothing there", card("configs:\n- config_name: default\n  data_files: data/none-*\n"), Options{}, "data/none-*", true},
		{"card: out of the folder", card("configs:\n- config_name: default\n  data_files: ../x.jsonl\n"), Options{}, "not below the folder", true},
		{"card: elsewhere", card("configs:\n- config_name: default\n  data_files: s3://b/x.jsonl\n"), Options{}, "download it first", true},
		{"card: broken", card("configs: [\n"), Options{}, "YAML block", true},
		{"card: no configs", card("tags: [a]\n"), Options{Split: "test"}, "e", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := openDir(t, put(t, c.files), c.opt)
			if c.fails {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range connectortest.ReadAll(t, src, connectortest.NewRuntime(t)) {
				got = append(got, strings.Trim(strings.TrimSpace(strings.TrimPrefix(r.Values, "x=")), `"`))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("read %q, want %q", s, c.want)
			}
		})
	}
}

func TestMedia(t *testing.T) {
	dir := put(t, map[string]string{
		"train/metadata.jsonl": `{"file_name":"a.jpg","label":"cat","n":1}` + "\n" + `{"file_name":"sub/b.png","label":"dog","n":2}` + "\n" +
			`{"file_name":"gone.jpg","label":"none","n":3}` + "\n" + `{"file_name":"../../etc/passwd","n":4}` + "\n" + `{"label":"nameless","n":5}` + "\n" +
			`{"file_name":"big.jpg","n":6}` + "\n",
		"train/a.jpg": "AAAA", "train/sub/b.png": "BB", "train/big.jpg": strings.Repeat("x", 1000), "test/metadata.csv": "file_name,n\nt.jpg,7\n", "test/t.jpg": "T",
	})
	src, err := openDir(t, dir, Options{MaxFile: 999})
	if err != nil {
		t.Fatal(err)
	}
	s, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Field(0).Name + " " + s.Field(1).Name + " " + s.Field(2).Name; got != "path image label" || !arrow.TypeEqual(s.Field(1).Type, block.Image) {
		t.Fatalf("columns %s", s)
	}
	rt := connectortest.NewRuntime(t)
	rows := connectortest.ReadAll(t, src, rt)
	if len(rows) != 2 || !strings.Contains(rows[0].Values, "a.jpg") || !strings.Contains(rows[1].Values, "dog") {
		t.Errorf("rows %v", rows)
	}
	var failed []string
	for _, f := range rt.Failures() {
		failed = append(failed, dataset.ClassOf(f.Err)+": "+f.Err.Error())
	}
	for _, want := range []string{"file is missing: ", "gone.jpg, which is not there", "leads out of the folder", "names no file", "raise max_file"} {
		if !strings.Contains(strings.Join(failed, "\n"), want) {
			t.Errorf("failures %q, want %q among them", failed, want)
		}
	}
	if len(failed) != 4 {
		t.Errorf("%d failures", len(failed))
	}
	test, err := openDir(t, dir, Options{Split: "test"})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := test.(dataset.Projectable).Project([]string{"n", "path"})
	if err != nil {
		t.Fatal(err)
	}
	rows = connectortest.ReadAll(t, narrow, connectortest.NewRuntime(t))
	if len(rows) != 1 || !strings.Contains(rows[0].Values, "t.jpg") || strings.Contains(rows[0].Values, "image") || !strings.Contains(rows[0].Values, "7") {
		t.Errorf("rows %v", rows)
	}
}

// TestMediaErrors gives tables that cannot be joined.
func TestMediaErrors(t *testing.T) {
	for _, c := range []struct{ table, want string }{
		{`{"name":"a.wav"}`, `needs a column "file_name"`},
		{`{"file_name":"a.wav","audio":"x"}`, `has a column "audio"`},
		{`{"file_name":"a.wav","path":"x"}`, `has a column "path"`},
		{`{"file_name":7}`, `needs a column "file_name"`},
	} {
		src, err := openDir(t, put(t, map[string]string{"metadata.jsonl": c.table + "\n", "a.wav": "RIFF"}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.Schema(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.table, err)
		}
	}
}

// TestBlocks reads media in blocks that a few of them fill.
func TestBlocks(t *testing.T) {
	files := map[string]string{}
	table := ""
	for i := range 40 {
		name := fmt.Sprintf("%02d.bin", i)
		table += fmt.Sprintf("{\"file_name\":%q}\n", name)
		files[name] = strings.Repeat("x", 100*(i+1))
	}
	files["metadata.jsonl"] = table
	src, err := openDir(t, put(t, files), Options{})
	if err != nil {
		t.Fatal(err)
	}
	rt := connectortest.NewRuntime(t)
	rt.Bytes = 5000
	rows := connectortest.ReadAll(t, src, rt)
	if len(rows) != 40 || !strings.Contains(rows[7].Values, "data=") || rows[39].Position <= rows[38].Position {
		t.Errorf("%d rows", len(rows))
	}
	splits := connectortest.Splits(t, src, dataset.Cursor{})
	r, err := src.Open(t.Context(), rt, splits[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.NumRows() >= 20 {
		t.Errorf("a block has %d rows", b.NumRows())
	}
	b.Release()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzCard parses the head of README.md.
func FuzzCard(f *testing.F) {
	f.Add([]byte("---\nconfigs:\n- config_name: a\n  data_files:\n  - split: train\n    path: [a, b]\n---\n"))
	f.Add([]byte("---\r\nconfigs:\r\n- data_files: {train: x}\r\n---\r\n"))
	f.Add([]byte("---\nconfigs: &a [*a]\n---"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		configs, err := parseCard(raw)
		if err != nil || len(configs) == 0 {
			return
		}
		if c, err := choose(configs, ""); err == nil && !slices.ContainsFunc(configs, func(o config) bool { return o.Name == c.Name }) {
			t.Errorf("chose %v", c)
		}
	})
}
