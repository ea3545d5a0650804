package cli

import (
	"context"
	"fmt"
	"image"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/mattn/go-runewidth"

	"github.com/sluice-data/sluice/cmd/sluice/internal/thumb"
	"github.com/sluice-data/sluice/cmd/sluice/internal/trace"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Size of a thumbnail in character cells.
const (
	thumbColumns = 24
	thumbLines   = 9
)

// pictureMode is how pictures are drawn.
type pictureMode = thumb.Mode

// pictures says how pictures are drawn on standard output.
func (a *app) pictures() pictureMode {
	if m := a.flags.see.images; m != "" && m != "auto" {
		return pictureMode(m)
	}
	return thumb.Detect(a.Stdin, a.Stdout, os.Getenv)
}

// checkImages refuses unknown ways.
func checkImages(m string) error {
	known := append([]string{"auto"}, thumb.Modes()...)
	for _, k := range append(known, "") {
		if m == k {
			return nil
		}
	}
	return dataset.Usagef("--images is %q, want %s%s", m, strings.Join(known, ", "), dataset.DidYouMean(m, known))
}

// thumbnails draws the pictures of rows, a strip for each column of pictures. Pictures that are as the step before gave them are not drawn
// again.
func (p *tracePrinter) thumbnails(ctx context.Context, r *trace.Rows, labels []string, before *trace.Stage) error {
	if p.mode == thumb.None {
		return nil
	}
	for i, f := range r.Schema.Fields() {
		if !isPicture(f.Type) || before != nil && samePictures(r, before.Rows, f.Name) {
			continue
		}
		pictures, err := p.job.shrunk(ctx, r, f.Name, len(labels), p.mode.Pixels(thumbColumns, thumbLines))
		if err != nil {
			return err
		}
		if err := p.strip(f.Name, pictures, labels, r.Record.Column(i)); err != nil {
			return err
		}
	}
	return nil
}

// strip draws pictures with a caption each, as many beside each other as there is room for.
func (p *tracePrinter) strip(column string, pictures []image.Image, labels []string, cells arrow.Array) error {
	const gap = 2
	fit := max(1, (outputWidth(p.Stdout)+gap)/(thumbColumns+gap))
	if _, err := fmt.Fprintln(p.Stdout, dim(p.Stdout, printable(column))); err != nil {
		return err
	}
	for from := 0; from < len(pictures); from += fit {
		to := min(from+fit, len(pictures))
		caption := ""
		for i := from; i < to; i++ {
			c := runewidth.Truncate(labels[i]+"  "+cellText(cells, i), thumbColumns, "…")
			caption += runewidth.FillRight(c, thumbColumns+gap)
		}
		if err := thumb.Draw(p.Stdout, p.mode, pictures[from:to], 0, thumbColumns, thumbLines); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(p.Stdout, dim(p.Stdout, strings.TrimRight(caption, " "))); err != nil {
			return err
		}
	}
	return nil
}

func isPicture(t arrow.DataType) bool {
	return arrow.TypeEqual(t, block.Image) || arrow.TypeEqual(t, block.Pixels)
}

// samePictures says whether a column is what it was before, row for row.
func samePictures(r, before *trace.Rows, name string) bool {
	if before.Record == nil {
		return false
	}
	at, was := r.Schema.FieldIndices(name), before.Schema.FieldIndices(name)
	if len(at) == 0 || len(was) == 0 || !arrow.TypeEqual(r.Schema.Field(at[0]).Type, before.Schema.Field(was[0]).Type) {
		return false
	}
	places := map[string]int{}
	for i, l := range before.Labels {
		places[l] = i
	}
	a, b := r.Record.Column(at[0]), before.Record.Column(was[0])
	for i, l := range r.Labels {
		k, ok := places[l]
		if l == "" || !ok || !array.SliceEqual(a, int64(i), int64(i+1), b, int64(k), int64(k+1)) {
			return false
		}
	}
	return true
}

// shrunk makes small pictures of the first n values of a column, nil for those that cannot be shown, by the steps that pipelines decode and
// resize with: the same decoders, limits and orientation.
func (j *job) shrunk(ctx context.Context, r *trace.Rows, column string, n int, most image.Point) ([]image.Image, error) {
	out := make([]image.Image, n)
	src, release := r.Source(column, n)
	defer release()
	d := dataset.From(src, j.session.Runner())
	in := "in=" + dataset.QuoteWord(column)
	steps := []string{fmt.Sprintf("resize %dx%d fit %s", most.X, most.Y, in)}
	if f, _ := r.Schema.FieldsByName(column); arrow.TypeEqual(f[0].Type, block.Image) {
		steps = append([]string{"decode max_pixels=60000000 " + in}, steps...)
	}
	for _, text := range steps {
		name, args, _ := strings.Cut(text, " ")
		spec, err := j.step(name, args)
		if err != nil {
			return nil, err
		}
		d = d.Via(spec)
	}
	opts := dataset.Options{OnError: dataset.OnErrorSkip, Ordered: true}
	for b, err := range d.Blocks(ctx, opts) {
		if err != nil {
			return nil, err
		}
		pixels := b.ColumnByName(column)
		for row := range b.NumRows() {
			if at := trace.Position(b, row); at >= 0 && at < n {
				out[at] = pictureAt(pixels, row)
			}
		}
	}
	return out, nil
}

// pictureAt copies decoded pixels into an image; nil if they are none of 8 bits.
func pictureAt(a arrow.Array, row int) image.Image {
	px, ok := a.(*block.PixelsArray)
	if !ok || a.IsNull(row) {
		return nil
	}
	s, ok := px.Storage().(*array.Struct)
	if !ok {
		return nil
	}
	value := func(name string) arrow.Array {
		i, _ := s.DataType().(*arrow.StructType).FieldIdx(name) //nolint // arrays of structs have it
		return s.Field(i)
	}
	number := func(name string) int {
		if n, ok := value(name).(*array.Int32); ok {
			return int(n.Value(row))
		}
		return 0
	}
	w, h, ch := number("width"), number("height"), number("channels")
	data := binaryAt(value("data"), row)
	if w <= 0 || h <= 0 || ch < 1 || ch > 4 || len(data) != w*h*ch {
		return nil
	}
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		in, out := data[i*ch:], img.Pix[4*i:4*i+4]
		out[0], out[1], out[2], out[3] = in[0], in[0], in[0], 255
		if ch >= 3 {
			out[1], out[2] = in[1], in[2]
		}
		if ch == 4 { // on white, as decode lays it
			alpha := int(in[3])
			for k := range 3 {
				out[k] = uint8((int(in[k])*alpha + 255*(255-alpha)) / 255) //nolint:gosec // at most 255
			}
		}
	}
	return img
}
