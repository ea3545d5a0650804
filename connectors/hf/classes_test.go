package hf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
)

// TestClasses reads media whose folders name classes, and media whose folders do not.
func TestClasses(t *testing.T) {
	files := func(names ...string) map[string]string {
		out := map[string]string{}
		for i, n := range names {
			out[n] = strings.Repeat("x", i+1)
		}
		return out
	}
	for _, c := range []struct {
		name    string
		files   map[string]string
		split   string
		columns string
		labels  string
	}{
		{"splits", files("train/cat/1.jpg", "train/dog/2.png", "test/cat/3.jpg"), "train", "path image label", "cat dog"},
		{"the other split", files("train/cat/1.jpg", "train/dog/2.png", "test/cat/3.jpg"), "test", "path image label", "cat"},
		{"no splits", files("cat/1.jpg", "dog/2.jpg"), "", "path image label", "cat dog"},
		{"audio", files("train/yes/1.wav", "train/no/2.wav"), "", "path audio label", "no yes"},
		{"video", files("train/run/1.mp4", "train/walk/2.webm"), "", "path video label", "run walk"},
		{"one folder", files("train/data/1.jpg", "train/data/2.jpg"), "", "path image", ""},
		{"no folders", files("1.jpg", "2.jpg"), "", "path image", ""},
		{"uneven depths", files("train/cat/1.jpg", "train/2.jpg"), "", "path image", ""},
		{"splits only", files("train/1.jpg", "test/2.jpg"), "train", "path image", ""},
		{"folders of values", files("train/year=2024/1.jpg", "train/year=2025/2.jpg"), "", "path image year label", "year=2024 year=2025"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := openDir(t, put(t, c.files), Options{Split: c.split})
			if err != nil {
				t.Fatal(err)
			}
			s, err := src.Schema(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range s.Fields() {
				names = append(names, f.Name)
			}
			if got := strings.Join(names, " "); got != c.columns {
				t.Fatalf("columns %q, want %q", got, c.columns)
			}
			if c.labels == "" {
				return
			}
			for _, columns := range [][]string{nil, {"label"}, {"label", "path"}} {
				from := src
				if columns != nil {
					if from, err = src.(dataset.Projectable).Project(columns); err != nil {
						t.Fatal(err)
					}
				}
				rows := connectortest.ReadAll(t, from, connectortest.NewRuntime(t))
				if len(rows) != len(strings.Fields(c.labels)) {
					t.Fatalf("%v: %d rows", columns, len(rows))
				}
				for i, want := range strings.Fields(c.labels) {
					if !strings.Contains(rows[i].Values, fmt.Sprintf("label=%q", want)) {
						t.Errorf("%v: row %d is %q, want the label %s", columns, i, rows[i].Values, want)
					}
				}
			}
		})
	}
}

// TestClassesLimits: max_file holds for media without a table, and mixed kinds are refused.
func TestClassesLimits(t *testing.T) {
	src, err := openDir(t, put(t, map[string]string{"cat/1.wav": "xxxx", "dog/2.wav": "x"}), Options{MaxFile: 2})
	if err != nil {
		t.Fatal(err)
	}
	rt := connectortest.NewRuntime(t)
	if rows := connectortest.ReadAll(t, src, rt); len(rows) != 1 || len(rt.Failures()) != 1 || !strings.Contains(rt.Failures()[0].Err.Error(), "max_file") {
		t.Errorf("%d rows, failures %v", len(rows), rt.Failures())
	}
	if _, err := openDir(t, put(t, map[string]string{"a/1.jpg": "x", "b/2.wav": "x"}), Options{}); err == nil || !strings.Contains(err.Error(), "2.wav") {
		t.Errorf("pictures and sound: %v", err)
	}
}
