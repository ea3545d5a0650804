package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// Join implements dataset.Format: records follow records, and the header comes once.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	return file.JoinBytes(ctx, "csv", w, parts, func(i int, p dataset.JoinPart) (int64, error) {
		if i == 0 || !*f.opt.Header {
			return 0, nil
		}
		n, err := f.headerSize(p)
		if err != nil {
			return 0, fmt.Errorf("join csv: find the header of part %d: %w", i, err)
		}
		return n, nil
	})
}

// headerSize is how many bytes the header of a file takes. Of a compressed file it is the size of the member or frame that the header has for
// itself: compressing the same header again gives the same bytes.
func (f *Format) headerSize(p dataset.JoinPart) (int64, error) {
	text, err := f.headerText(p)
	if err != nil || f.opt.Compression == "" {
		return int64(len(text)), err
	}
	packed, err := file.Packed(text, f.opt.Compression)
	if err != nil {
		return 0, err
	}
	head := make([]byte, len(packed))
	if _, err := p.ReadAt(head, 0); err != nil && err != io.EOF {
		return 0, err
	}
	if !bytes.Equal(head, packed) {
		return 0, fmt.Errorf("it was compressed with %s by another version of this program; run the job again with --overwrite", f.opt.Compression)
	}
	return int64(len(head)), nil
}

// headerText is the header of a file, with its line end.
func (f *Format) headerText(p dataset.JoinPart) (text []byte, err error) {
	z, err := file.Decompress(io.NewSectionReader(p, 0, p.Size), f.opt.Compression)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	d := dialect{delim: f.delim, quote: '"'}
	s := atRecord
	buf := make([]byte, 4<<10)
	for {
		k, err := z.Read(buf)
		n, next, done := d.advance(s, buf[:k])
		text = append(text, buf[:n]...)
		if done || err == io.EOF {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		s = next
	}
}
