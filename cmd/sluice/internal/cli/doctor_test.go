package cli

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/gpu"
)

// modelServer starts the conformance server of gpu/triton and returns its host; "" without Python.
func modelServer(t *testing.T, args ...string) string {
	t.Helper()
	py := connectortest.Python(t, "tritonclient.grpc", "grpc")
	if py == "" {
		return ""
	}
	script := filepath.Join("..", "..", "..", "..", "gpu", "triton", "testdata", "server.py")
	c := exec.Command(py, append([]string{script}, args...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + strings.TrimSpace(line)
}

func wantIn(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("it does not say %q:\n%s", w, text)
		}
	}
}

func TestDoctor(t *testing.T) {
	c := command(t, "doctor")
	c.Env = append(c.Env, serversEnv+"=")
	out, errs, code := outcome(t, c)
	if code != 0 || errs != "" {
		t.Errorf("exit code %d, %s", code, errs)
	}
	wantIn(t, out, "ok       libfound", "missing  liblost", "to install: get liblost", "set SLUICE_TRITON", "shared memory", "open files", "is the budget of a run")
	host := modelServer(t)
	if host == "" {
		return
	}
	c = command(t, "doctor")
	c.Env = append(c.Env, serversEnv+"="+host)
	out, _, code = outcome(t, c)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantIn(t, out, "ok  "+host+"  triton 0; models: ident_FP32, broken (unavailable: no such file)")
	out, errs, code = outcome(t, command(t, "doctor", host, "127.0.0.1:1"))
	if code != exitFailed {
		t.Errorf("exit code %d with a server that is not there", code)
	}
	wantIn(t, out, "failed  127.0.0.1:1", "ok      "+host)
	wantIn(t, errs, "1 of 2 model servers cannot be used")
	if _, errs, code = outcome(t, command(t, "doctor", "http://h")); code != exitUsage {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

func TestModels(t *testing.T) {
	host := modelServer(t)
	if host == "" {
		return
	}
	out, errs, code := outcome(t, command(t, "models", "triton://"+host))
	if code != 0 {
		t.Errorf("exit code %d, %s", code, errs)
	}
	wantIn(t, out, "triton 0 at "+host, "ident_FP32  version 3, python, batches of up to 64, 2 instances", "input   x  FP32  ?x?", "output  y  FP32  ?x?", "load    0 running, 0 waiting",
		"broken  unavailable: no such file")
	out, _, code = outcome(t, command(t, "models", "triton://"+host+"/countdown"))
	if code != 0 || strings.Contains(out, "broken") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	wantIn(t, out, "many responses to a request", "input   x  INT32  ?\n")
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"models"}, exitUsage, "the address of a server"},
		{[]string{"models", "http://h"}, exitUsage, `the scheme is "http"`},
		{[]string{"models", "127.0.0.1:1"}, exitFailed, "connection refused"},
		{[]string{"models", host + "/nope"}, exitFailed, "is not found"},
		{[]string{"models", host, "--token-env", "NOT_SET_AT_ALL"}, exitUsage, "the variable is not set"},
	} {
		if _, errs, code := outcome(t, command(t, tc.args...)); code != tc.code || !strings.Contains(errs, tc.says) {
			t.Errorf("%v: exit code %d, %s; want %d, %q", tc.args, code, errs, tc.code, tc.says)
		}
	}
	if _, errs, code := outcome(t, command(t, "models", modelServer(t, "--dialect", "kserve"))); code != exitFailed || !strings.Contains(errs, "lists no models; name one") {
		t.Errorf("a server without a list: exit code %d, %s", code, errs)
	}
}

// fakeDevices are GPUs that nobody has.
type fakeDevices struct {
	list []gpu.Device
	err  error
}

func (f fakeDevices) List() ([]gpu.Device, error) { return f.list, f.err }
func (fakeDevices) Close() error                  { return nil }

func TestGPUChecks(t *testing.T) {
	one := gpu.Device{Index: 0, UUID: "GPU-1", Name: "NVIDIA A", Driver: "999", MemoryBytes: 80 << 30, FreeBytes: 70 << 30, Busy: 0.4}
	for name, tc := range map[string]struct {
		devices gpu.Devices
		err     error
		want    check
	}{
		"none":      {nil, gpu.ErrNoDriver, check{"none", "", "no GPU driver is installed here"}},
		"broken":    {nil, errors.New("driver not loaded"), check{checkFailed, "driver", "driver not loaded"}},
		"no device": {fakeDevices{}, nil, check{"none", "", "the driver knows no GPU"}},
		"one":       {fakeDevices{list: []gpu.Device{one}}, nil, check{checkOK, "0 NVIDIA A", "GPU-1, 70 GiB of 80 GiB free, 40 % busy, driver 999"}},
		"lost":      {fakeDevices{err: errors.New("GPU is lost")}, nil, check{checkFailed, "driver", "GPU is lost"}},
	} {
		if got := gpuChecks(func() (gpu.Devices, error) { return tc.devices, tc.err }); len(got) != 1 || got[0] != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// fakeLibraries are two libraries, one of which is there.
func fakeLibraries(context.Context) []Library {
	return []Library{{Name: "libfound", Uses: "speed", Found: "1.0"}, {Name: "liblost", Uses: "more", Install: "get liblost"}}
}
