package file

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnreadableFolder runs as another user, because root reads everything.
func TestUnreadableFolder(t *testing.T) {
	dir := files(t, "in/ok/a.x", "in/shut/b.x")
	if err := os.Chmod(filepath.Join(dir, "in/shut"), 0); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		runtime.LockOSThread() // the user is the thread's
		defer runtime.UnlockOSThread()
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := unix.SetfsuidRetUid(0); err != nil {
				t.Error(err)
			}
		}()
	}
	_, err := list(t, "", globs("in")...)
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "in") {
		t.Fatalf("got %v", err)
	}
}
