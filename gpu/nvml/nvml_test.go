//go:build linux

package nvml

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/gpu"
)

// fake compiles a stand-in for the driver's library.
func fake(t *testing.T, flags ...string) []string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Log("the stand-in for the driver was not checked: there is no C compiler")
		return nil
	}
	out := filepath.Join(t.TempDir(), "libfake.so")
	if msg, err := exec.Command(cc, append(flags, "-shared", "-fPIC", "-o", out, filepath.Join("testdata", "fake.c"))...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return []string{"libnone-of-this-name.so", out}
}

func TestDevices(t *testing.T) {
	names := fake(t)
	if names == nil {
		return
	}
	d, err := open(names)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	want := []gpu.Device{
		{Index: 0, UUID: "GPU-1", Name: "NVIDIA A", Driver: "999.1", MemoryBytes: 80 << 30, FreeBytes: 70 << 30, Busy: 0.4},
		{Index: 1, UUID: "GPU-2", Name: "NVIDIA B", Driver: "999.1", MemoryBytes: 80 << 30, FreeBytes: 70 << 30, Busy: -1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("devices are %+v, want %+v", got, want)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.List(); err == nil {
		t.Error("a closed library lists devices")
	}
}

func TestNoDriver(t *testing.T) {
	if _, err := open([]string{"libnone-of-this-name.so"}); !errors.Is(err, gpu.ErrNoDriver) {
		t.Errorf("no library: %v", err)
	}
	if _, err := open([]string{"libc.so.6"}); err == nil || !strings.Contains(err.Error(), "nvmlInit_v2") {
		t.Errorf("another library: %v", err)
	}
	if names := fake(t, "-DINIT=9"); names != nil {
		if _, err := open(names); err == nil || !strings.Contains(err.Error(), "Driver Not Loaded") {
			t.Errorf("a library that does not start: %v", err)
		}
	}
}
