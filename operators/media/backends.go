package media

import (
	"github.com/sluice-data/sluice/operators/media/internal/heif"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// HEIFBackend names the library that decodes HEIC, and AVIF if it can, or says why there is none.
func HEIFBackend() string { return heif.Describe() }

// JPEGBackend names the library that decodes and encodes JPEG on this machine: libjpeg-turbo if it was found, else the standard library.
func JPEGBackend() string {
	w := imaging.NewWorker()
	defer w.Close()
	return w.Backend()
}
