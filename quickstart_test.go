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

// TestFlagsOfDocs checks that the page of the command line names every flag and command that the program has.
func TestFlagsOfDocs(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.Command(bin, "--help").Output() //nolint:gosec // the program that was just built
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)|^  ([a-z]+)  `).FindAllStringSubmatch(string(help), -1)
	if len(names) < 15 {
		t.Fatalf("only %d flags and commands were found: the search is broken", len(names))
	}
	for _, n := range names {
		name := n[1] + n[2]
		if name != "--help" && name != "help" && !strings.Contains(string(page), name) {
			t.Errorf("docs/cli.md does not say what %s does", name)
		}
	}
}
