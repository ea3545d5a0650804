package media

import "github.com/sluice-data/sluice/operators/media/internal/imaging"

// JPEGBackend names the library that decodes and encodes JPEG on this machine: libjpeg-turbo if it was found, else the standard library.
func JPEGBackend() string {
	w := imaging.NewWorker()
	defer w.Close()
	return w.Backend()
}
