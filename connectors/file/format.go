package file

import (
	"context"
	"fmt"
	"io"

	"github.com/sluice-data/sluice/dataset"
)

// CountWriter counts the bytes that went through to W.
type CountWriter struct {
	W io.Writer
	N int64
}

// Write implements io.Writer.
func (c *CountWriter) Write(p []byte) (int, error) {
	n, err := c.W.Write(p)
	c.N += int64(n)
	return n, err
}

// JoinBytes is dataset.Format's Join for formats whose files may follow each other as they are. skip says how many bytes at the start of part i are
// left out, such as a header; nil: none. name is that of the format, for messages.
func JoinBytes(ctx context.Context, name string, w io.Writer, parts []dataset.JoinPart, skip func(i int, p dataset.JoinPart) (int64, error)) error {
	buf := make([]byte, 1<<20)
	for i, p := range parts {
		off := int64(0)
		if skip != nil {
			var err error
			if off, err = skip(i, p); err != nil {
				return err
			}
		}
		for off < p.Size {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n, err := p.ReadAt(buf[:min(int64(len(buf)), p.Size-off)], off)
			if n == 0 && err != nil {
				return fmt.Errorf("join %s: %w", name, err)
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return fmt.Errorf("join %s: %w", name, err)
			}
			off += int64(n)
		}
	}
	return nil
}
