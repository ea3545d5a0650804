package cli

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // the formats whose headers are read
	_ "image/jpeg"
	_ "image/png"
	"io"
	"slices"
	"strings"

	"github.com/bep/imagemeta"
	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"github.com/sluice-data/sluice/cmd/sluice/internal/thumb"
	"github.com/sluice-data/sluice/cmd/sluice/internal/trace"
	"github.com/sluice-data/sluice/dataset/pipeline"
	"github.com/sluice-data/sluice/operators/media"
)

// imageFormats are the names of images, by extension or first bytes.
var imageFormats = []string{"jpeg", "jpg", "png", "gif", "bmp", "tiff", "tif", "webp", "avif", "heic", "heif"}

// inspectImage reads the header of an image and what its camera noted.
func inspectImage(s *subject) (format, text string, err error) {
	if p, ok, err := readHEIF(s); err != nil {
		return "", "", fmt.Errorf("read the header of the image: %w", err)
	} else if ok {
		return p.Format + " image", pictureLine(p.Width, p.Height, heifModel(p)), nil
	}
	c, name, err := readConfig(s)
	if err != nil {
		return "", "", fmt.Errorf("read the header of the image: %w", err)
	}
	text = pictureLine(c.Width, c.Height, modelName(c.ColorModel))
	if lines := exifLines(s, name); len(lines) > 0 {
		text += "\nEXIF\n" + aligned(lines, "  ")
	}
	return name + " image", text, nil
}

func pictureLine(w, h int, model string) string {
	return fmt.Sprintf("  %s × %s pixels (%.1f megapixels), %s\n", count(int64(w)), count(int64(h)), float64(w)*float64(h)/1e6, model)
}

// readHEIF reads the header of AVIF and HEIC; ok is false for other files. Their boxes may be anywhere in the file.
func readHEIF(s *subject) (p media.Picture, ok bool, err error) {
	const most = 256 << 20
	head := make([]byte, min(4096, s.ref.Size))
	if n, err := s.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return p, false, err
	} else if !media.IsHEIF(head[:n]) {
		return p, false, nil
	}
	data, err := io.ReadAll(io.LimitReader(s.reader(), most))
	if err != nil {
		return p, false, err
	}
	p, err = media.ReadHEIF(data)
	return p, true, err
}

// heifModel is what the samples of AVIF and HEIC are, for people.
func heifModel(p media.Picture) string {
	name := "colours"
	if p.Grey {
		name = "grey"
	}
	if p.Alpha {
		name += " with alpha"
	}
	return fmt.Sprintf("%s, %d bits a channel", name, p.Depth)
}

// readConfig reads the header; a decoder that panics on broken data is one that cannot read it.
func readConfig(s *subject) (c image.Config, name string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decoder failed: %v", p)
		}
	}()
	return image.DecodeConfig(s.reader())
}

// Bounds of what is read and shown of EXIF.
const (
	mostTags     = 40
	mostTagsRead = 2_000
	mostTagBytes = 4_096
)

// exifLines lists the EXIF tags, those of the embedded preview and the maker's own left out. Damaged blocks give what could be read.
func exifLines(s *subject, name string) (lines [][]string) {
	formats := map[string]imagemeta.ImageFormat{"jpeg": imagemeta.JPEG, "png": imagemeta.PNG, "webp": imagemeta.WebP, "tiff": imagemeta.TIFF}
	format, ok := formats[name]
	if !ok {
		return nil
	}
	defer func() { _ = recover() }() // a block that breaks the reader is shown as far as it came
	more := 0
	_, err := imagemeta.Decode(imagemeta.Options{R: s.reader(), ImageFormat: format, Sources: imagemeta.EXIF, LimitNumTags: mostTagsRead,
		LimitTagSize: mostTagBytes,
		ShouldHandleTag: func(t imagemeta.TagInfo) bool {
			return strings.HasPrefix(t.Namespace, "IFD0") && t.Tag != "MakerNote" && t.Tag != "UserComment" && !strings.HasPrefix(t.Tag, imagemeta.UnknownPrefix)
		},
		HandleTag: func(t imagemeta.TagInfo) error {
			if len(lines) >= mostTags {
				more++
				return nil
			}
			lines = append(lines, []string{printable(t.Tag), printable(clipRunes(tagText(t), widestColumn))})
			return nil
		}})
	if err != nil && len(lines) == 0 {
		return nil
	}
	if more > 0 {
		lines = append(lines, []string{fmt.Sprintf("… and %s more", count(int64(more)))})
	}
	return lines
}

// orientations are the meanings of the EXIF orientation.
var orientations = []string{"upright", "mirrored", "upside down", "upside down and mirrored", "mirrored, on its left side", "on its left side",
	"mirrored, on its right side", "on its right side"}

func tagText(t imagemeta.TagInfo) string {
	text := strings.TrimSpace(fmt.Sprint(t.Value))
	if n, ok := t.Value.(uint16); ok && t.Tag == "Orientation" && n >= 1 && int(n) <= len(orientations) {
		return text + " (" + orientations[n-1] + ")"
	}
	return text
}

// inspectPixels decodes the image as a pipeline would, says why if it cannot, and draws it on a terminal.
func (a *app) inspectPixels(ctx context.Context, path string) error {
	const columns, lines = 48, 16
	mode := a.pictures()
	parse := func(names pipeline.Names) (*pipeline.Pipeline, error) {
		p, err := literally(path)(names)
		if err == nil {
			p.Source.From = "images"
			p.Steps = []pipeline.Step{{Name: "decode"}}
		}
		return p, err
	}
	a.text = path
	return a.lookAt(ctx, "inspect "+path, parse, func(j *job, ctx context.Context) error {
		t, err := trace.Run(ctx, j.session.Runner(), j.built.Dataset.Node(), 1, j.settings.Options)
		if err != nil {
			return err
		}
		defer t.Release()
		last := t.Stages[len(t.Stages)-1]
		for _, f := range slices.Concat(t.Stages[0].Failed, last.Failed) {
			_, err := fmt.Fprintf(a.Stdout, "\nIt does not decode: %s\n", printable(firstLine(f.Cause)))
			return err
		}
		if mode == thumb.None || last.Rows.Len() == 0 {
			return nil
		}
		pictures, err := j.shrunk(ctx, last.Rows, "image", 1, mode.Pixels(columns, lines))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(a.Stdout); err != nil {
			return err
		}
		return thumb.Draw(a.Stdout, mode, pictures, 2, columns, lines)
	})
}

// modelName is a colour model for people.
func modelName(m color.Model) string {
	if p, ok := m.(color.Palette); ok {
		return fmt.Sprintf("palette of %s", plural(int64(len(p)), "colour"))
	}
	names := []struct {
		m    color.Model
		name string
	}{
		{color.YCbCrModel, "YCbCr, 8 bits a channel"}, {color.NYCbCrAModel, "YCbCr with alpha, 8 bits a channel"}, {color.CMYKModel, "CMYK, 8 bits a channel"},
		{color.GrayModel, "grey, 8 bits"}, {color.Gray16Model, "grey, 16 bits"}, {color.RGBAModel, "RGB, 8 bits a channel"},
		{color.NRGBAModel, "RGB with alpha, 8 bits a channel"}, {color.RGBA64Model, "RGB, 16 bits a channel"}, {color.NRGBA64Model, "RGB with alpha, 16 bits a channel"},
	}
	for _, n := range names {
		if n.m == m {
			return n.name
		}
	}
	return "unknown colour model"
}
