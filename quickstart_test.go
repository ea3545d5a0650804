package sluice_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var shell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestQuickStartRuns types what the quick start says, in a folder that looks like the repository.
func TestQuickStartRuns(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"examples", "testdata", "docs"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("docs/quick-start.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range shell.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			if !strings.HasPrefix(line, "sluice ") {
				continue
			}
			ran++
			c := exec.Command("sh", "-c", line) //nolint:gosec // a line of our own page
			c.Dir = dir
			c.Env = append(os.Environ(), "PATH="+filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s%v: %s", line, err, out)
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands were found: the search is broken", ran)
	}
	for _, result := range []string{"demo/events.parquet", "demo/small.parquet"} {
		if _, err := os.Stat(filepath.Join(dir, result)); err != nil {
			t.Error(err)
		}
	}
}
