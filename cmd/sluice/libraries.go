package main

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/sluice-data/sluice/cmd/sluice/internal/cli"
	"github.com/sluice-data/sluice/gpu/onnx"
	"github.com/sluice-data/sluice/operators/media"
	pyhost "github.com/sluice-data/sluice/operators/python"
)

// askWithin is how long a program may take to say its version.
const askWithin = 10 * time.Second

// libraries looks for the parts outside this program that steps use.
func libraries(ctx context.Context) []cli.Library {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return []cli.Library{turbo(), libheif(), python(ctx), runtimeLibrary(), program(ctx, "ffmpeg", "video and most audio", "-version", install("ffmpeg", "ffmpeg"))}
}

func turbo() cli.Library {
	l := cli.Library{Name: "libturbojpeg", Uses: "JPEG three times as fast", Install: install("libturbojpeg0", "jpeg-turbo")}
	if b := media.JPEGBackend(); strings.Contains(b, "turbo") {
		l.Found = b
	}
	return l
}

// libheif is found, but of no use, where its decoders are packages of their own.
func libheif() cli.Library {
	l := cli.Library{Name: "libheif", Uses: "HEIC, and AVIF faster", Install: install("libheif1", "libheif")}
	switch b := media.HEIFBackend(); {
	case strings.Contains(b, "HEVC"):
		l.Found = b
	case strings.HasPrefix(b, "libheif 1"):
		l.Cause = b + " has no decoder of HEIC; to install: " + install("libheif-plugin-libde265 libheif-plugin-dav1d", "libheif")
	}
	return l
}

// python starts the interpreter that user functions in Python run in.
func python(ctx context.Context) cli.Library {
	l := cli.Library{Name: "python with pyarrow", Uses: "functions in Python"}
	found, err := pyhost.Probe(ctx)
	if err != nil {
		l.Cause = err.Error()
	}
	l.Found = found
	return l
}

// runtimeLibrary loads the library of models in this process.
func runtimeLibrary() cli.Library {
	l := cli.Library{Name: "ONNX Runtime", Uses: "models in this process (onnx:)"}
	version, path, err := onnx.Version()
	if err != nil {
		l.Cause = err.Error()
		return l
	}
	l.Found = version + ", " + path
	return l
}

// program looks for a command and the first line of what it says of its version.
func program(ctx context.Context, name, uses, flag, install string) cli.Library {
	l := cli.Library{Name: name, Uses: uses, Install: install}
	path, err := exec.LookPath(name)
	if err != nil {
		return l
	}
	l.Found = path
	if out, err := exec.CommandContext(ctx, path, flag).Output(); err == nil {
		line, _, _ := strings.Cut(string(out), "\n")
		if words := strings.Fields(line); len(words) >= 3 {
			l.Found = strings.Join(words[:3], " ")
		}
	}
	return l
}

// install is the command that installs a package on this kind of system.
func install(debian, brew string) string {
	if runtime.GOOS == "darwin" {
		return "brew install " + brew
	}
	return "sudo apt-get install " + debian
}
