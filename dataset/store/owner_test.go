package store

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const childEnv = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
	}
	os.Exit(m.Run())
}

// child owns shared memory until it is killed.
func child(dir string) {
	s, err := OpenShared(SharedConfig{Dir: dir})
	if err == nil {
		_, err = s.Alloc(1 << 20)
	}
	fmt.Println("ready", err)
	select {}
}

func tempDir(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "store-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func startChild(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready <nil>\n" {
		t.Fatalf("child: %q, %v", line, err)
	}
	return cmd
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestKilledOwner kills an owner and has the next one clean up, but not before.
func TestKilledOwner(t *testing.T) {
	dir := t.TempDir()
	cmd := startChild(t, dir)
	if n, err := Sweep(dir); n != 0 || err != nil {
		t.Fatalf("a live owner was swept: %d, %v", n, err)
	}
	if got := files(t, dir); len(got) != 2 {
		t.Fatalf("files are %v, want a lock and a segment", got)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	stranger := filepath.Join(dir, "sluice-not-ours")
	if err := os.WriteFile(stranger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenShared(SharedConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files(t, dir) {
		if name != filepath.Base(stranger) && !strings.Contains(name, s.owner.id) {
			t.Errorf("%s is left of the dead owner", name)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("files are %v, want the stranger's only", got)
	}
}

// TestHalfSwept leaves segments without a lock file, as a sweep does that is killed by hand.
func TestHalfSwept(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sluice-00112233aabb-1"), make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := Sweep(dir); n != 1 || err != nil || len(files(t, dir)) != 0 {
		t.Errorf("swept %d, %v; left %v", n, err, files(t, dir))
	}
	if _, err := Sweep(filepath.Join(dir, "none")); err == nil {
		t.Error("no folder is no error")
	}
}

func TestOwnerOf(t *testing.T) {
	for name, want := range map[string]string{
		"sluice-00112233aabb-12":   "00112233aabb",
		"sluice-00112233aabb.lock": "00112233aabb",
		"sluice-00112233aabb":      "",
		"sluice-00112233aabbx":     "",
		"sluice-0011223zaabb-1":    "",
		"sluice-":                  "",
		"other-00112233aabb-1":     "",
	} {
		if id, ok := ownerOf(name); ok != (want != "") || ok && id != want {
			t.Errorf("ownerOf(%q) is %q, %v", name, id, ok)
		}
	}
}
