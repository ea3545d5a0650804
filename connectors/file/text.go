package file

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-data/sluice/dataset"
)

// StdinPath is the path that stands for standard input.
const StdinPath = "-"

// Text is the decompressed bytes of one pinned file, read once in order. It is used by one goroutine.
type Text struct {
	ref    dataset.FileRef
	h      Handle
	r      io.Reader
	unpack io.ReadCloser
	left   int64 // bytes of a plain file still to come; -1: not known
}

// OpenText opens a file for reading from position from of its decompressed bytes on. Compression follows the extension; standard input
// is recognised by its first bytes.
func (s *Set) OpenText(ctx context.Context, ref dataset.FileRef, from int64) (*Text, error) {
	return s.OpenTextTo(ctx, ref, from, Unbounded)
}

// textSlack is how far behind its end a range of lines is read ahead: its last line ends there nearly always.
const textSlack = 64 << 10

// OpenTextTo is OpenText for a reader that wants little behind position to, so that nothing is read ahead in vain beyond it.
func (s *Set) OpenTextTo(ctx context.Context, ref dataset.FileRef, from, to int64) (*Text, error) {
	t := &Text{ref: ref, left: -1}
	compression := Compression(ref.Path)
	if ref.Path == StdinPath {
		head, _, err := Stdin.Peek(ctx, sniffBytes)
		if err != nil {
			return nil, err
		}
		compression = sniffCompression(head)
		if t.r, err = Stdin.Open(ctx); err != nil {
			return nil, err
		}
	} else {
		h, err := s.fs.Open(ctx, ref)
		if err != nil {
			return nil, err
		}
		start := int64(0)
		if compression == "" {
			start, from = from, 0
			t.left = ref.Size - start
		}
		if a, ok := h.(Advisor); ok {
			n := int64(0)
			if compression == "" && to > start && to < ref.Size {
				n = to - start + textSlack
			}
			a.Sequential(start, n)
		}
		t.h, t.r = h, &handleReader{ctx, h, start}
	}
	if compression != "" {
		z, err := Decompress(t.r, compression)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("decompress %s: %w", ref.Path, err), t.Close())
		}
		t.r, t.unpack = z, z
	}
	if from > 0 {
		if _, err := io.CopyN(io.Discard, t, from); err != nil && err != io.EOF {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

// Read implements io.Reader. A file that ends before its pinned size is a *ChangedError.
func (t *Text) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if t.left >= 0 {
		t.left -= int64(n)
	}
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF && t.left > 0:
		if changed := t.Check(); changed != nil {
			return n, changed
		}
		return n, fmt.Errorf("read %s: %d bytes are missing at the end", t.ref.Path, t.left)
	case err == io.EOF:
		return n, io.EOF
	case t.unpack != nil:
		if changed := t.Check(); changed != nil {
			return n, changed
		}
		return n, fmt.Errorf("decompress %s: %w", t.ref.Path, err)
	}
	return n, err
}

// Check reports a *ChangedError if the file is no longer the pinned version.
func (t *Text) Check() error {
	if t.h == nil {
		return nil
	}
	return t.h.Check()
}

// Close frees what the text holds.
func (t *Text) Close() error {
	var errs []error
	if t.unpack != nil {
		errs = append(errs, t.unpack.Close())
	}
	if t.h != nil {
		errs = append(errs, t.h.Close())
	}
	t.unpack, t.h = nil, nil
	return errors.Join(errs...)
}

// handleReader reads a handle in order.
type handleReader struct {
	ctx context.Context
	h   Handle
	off int64
}

func (r *handleReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.h.ReadAt(p, r.off)
	r.off += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Sample reads the start of a file, at most n decompressed bytes; whole says that there is no more. Standard input is only peeked at.
func (s *Set) Sample(ctx context.Context, ref dataset.FileRef, n int) (head []byte, whole bool, err error) {
	if ref.Path == StdinPath {
		return sampleStdin(ctx, n)
	}
	t, err := s.OpenText(ctx, ref, 0)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	head = make([]byte, n+1)
	k, err := io.ReadFull(t, head)
	switch err {
	case nil:
		return head[:n], false, nil
	case io.EOF, io.ErrUnexpectedEOF:
		return head[:k], true, nil
	}
	return nil, false, err
}
