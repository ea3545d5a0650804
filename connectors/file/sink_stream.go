package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// StreamSink is a sink that writes to standard output or another stream. It cannot take rows back, so it delivers at least once.
type StreamSink struct {
	w      io.Writer
	format dataset.Format
}

var _ dataset.Sink = (*StreamSink)(nil)

// OpenSink makes the sink for a path as typed: "-" is standard output, a URL is written by its scheme.
func OpenSink(path string, format dataset.Format, layout Layout) (dataset.Sink, error) {
	if path == "-" {
		if len(layout.By) > 0 {
			return nil, dataset.Usagef("open sink -: by= needs a folder, not standard output")
		}
		return NewStreamSink(os.Stdout, format), nil
	}
	if IsURL(path) {
		s, err := openRemote(path, format, layout)
		if err != nil {
			return nil, err // a nil *Sink must not become a non-nil Sink
		}
		return s, nil
	}
	return NewSink(path, format, layout)
}

// NewStreamSink makes a sink that writes to w, which stays open.
func NewStreamSink(w io.Writer, format dataset.Format) *StreamSink { return &StreamSink{w, format} }

// Name implements dataset.Sink.
func (s *StreamSink) Name() string { return s.format.Name() }

// Version implements dataset.Sink.
func (s *StreamSink) Version() int { return s.format.Version() }

// Params implements dataset.Sink.
func (s *StreamSink) Params() any { return s.format.Params() }

// Check implements dataset.Sink.
func (s *StreamSink) Check(in *arrow.Schema) error { return s.format.Check(in) }

// Finish implements dataset.Sink; everything was delivered already.
func (s *StreamSink) Finish(context.Context, []dataset.Receipt) error { return nil }

// NewWriter implements dataset.Sink. The engine opens one writer a run.
func (s *StreamSink) NewWriter(_ context.Context, rt dataset.Runtime, part dataset.Part, in *arrow.Schema) (dataset.Writer, error) {
	w := &streamWriter{part: part, count: &streamTail{w: s.w}}
	w.buf = bufio.NewWriterSize(w.count, writeBuffer)
	enc, err := s.format.NewEncoder(w.buf, in, rt.Allocator(), rt.Parallel())
	if err != nil {
		return nil, fmt.Errorf("write stream: %w", err)
	}
	w.enc = enc
	return w, nil
}

// streamTail counts and, once aborted, refuses bytes. A reader that has gone away wants no more: that is no failure.
type streamTail struct {
	w       io.Writer
	bytes   int64
	aborted bool
}

func (t *streamTail) Write(p []byte) (int, error) {
	if t.aborted {
		return 0, errAborted
	}
	n, err := t.w.Write(p)
	t.bytes += int64(n)
	if errors.Is(err, syscall.EPIPE) {
		err = dataset.ErrStop
	}
	return n, err
}

type streamWriter struct {
	part  dataset.Part
	rows  int64
	enc   dataset.Encoder
	buf   *bufio.Writer
	count *streamTail
}

// Write implements dataset.Writer. The rows are passed on at once: someone may be watching.
func (w *streamWriter) Write(ctx context.Context, b *block.Block) error {
	if err := w.enc.Write(ctx, b); err != nil {
		return fmt.Errorf("write stream: %w", err)
	}
	if err := w.buf.Flush(); err != nil {
		return fmt.Errorf("write stream: %w", err)
	}
	w.rows += int64(b.NumRows())
	return nil
}

// Bytes implements dataset.Writer.
func (w *streamWriter) Bytes() int64 { return w.count.bytes }

// Buffered implements dataset.Writer.
func (w *streamWriter) Buffered() int64 { return w.enc.Buffered() }

// Commit implements dataset.Writer.
func (w *streamWriter) Commit(ctx context.Context) (dataset.Receipt, error) {
	err := w.enc.Close(ctx)
	if err == nil {
		err = w.buf.Flush()
	}
	if err != nil {
		return dataset.Receipt{}, fmt.Errorf("write stream: %w", err)
	}
	return dataset.Receipt{Part: w.part, Name: "-", Rows: w.rows, Bytes: w.count.bytes}, nil
}

// Abort implements dataset.Writer. What was written cannot be taken back.
func (w *streamWriter) Abort(ctx context.Context) error {
	w.count.aborted = true
	_ = w.enc.Close(ctx)
	return nil
}
