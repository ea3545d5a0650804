package main

import (
	"github.com/sluice-data/sluice/cmd/sluice/internal/cli"
	"github.com/sluice-data/sluice/operators/media"
)

// backends lists the parts that may be native or not.
func backends() []cli.Backend {
	return []cli.Backend{
		{Name: "jpeg", Uses: media.JPEGBackend()},
		{Name: "heic, avif", Uses: media.HEIFBackend() + "; AVIF without it: gen2brain/avif (WebAssembly)"},
		{Name: "webp", Uses: "gen2brain/webp (system library if found, else WebAssembly)"},
		{Name: "png, gif, bmp, tiff", Uses: "image/* of the Go standard library and golang.org/x/image"},
	}
}
