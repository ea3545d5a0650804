package images

import (
	"github.com/sluice-data/sluice/connectors/binary"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Column is the column of the encoded picture.
const Column = "image"

// Extensions are the extensions of picture files.
var Extensions = []string{"jpg", "jpeg", "jpe", "jfif", "png", "gif", "bmp", "tif", "tiff", "webp", "avif", "heic", "heif"}

var config = binary.Config{Name: "images", Version: 1, Column: Column, Type: block.Image}

// NewSource makes a source of the picture files in set. Of a folder only files with one of Extensions are read.
func NewSource(set *file.Set, opt binary.Options) (*binary.Source, error) {
	return binary.NewSource(config, set.FoldersOnly(Extensions), opt)
}

// Register adds the connector to a registry.
func Register(reg *dataset.Registry) error {
	return reg.AddSources(binary.Def(NewSource, dataset.SourceDef{
		Name:       config.Name,
		Doc:        "picture files, one row each, not decoded",
		Help:       "Gives the columns path and image, the bytes of the file. Follow it with decode. Pictures are JPEG, PNG, GIF, BMP, TIFF, WebP, AVIF and HEIC.",
		Extensions: Extensions,
	}))
}
