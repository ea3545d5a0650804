package file

import (
	"bytes"
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
	unpack *unpacker
	hidden bool  // compressed, though the name does not say so
	left   int64 // bytes of a plain file still to come; -1: not known
}

// OpenText opens a file for reading from position from of its decompressed bytes on. The compression is that which the first bytes show, or
// which the extension names.
func (s *Set) OpenText(ctx context.Context, ref dataset.FileRef, from int64) (*Text, error) {
	return s.OpenTextTo(ctx, ref, from, Unbounded)
}

// textSlack is how far behind its end a range of lines is read ahead: its last line ends there nearly always.
const textSlack = 64 << 10

// smallBytes is the size of files that are read at once when they are opened.
const smallBytes = 8 << 10

// OpenTextTo is OpenText for a reader that wants little behind position to, so that nothing is read ahead in vain beyond it.
func (s *Set) OpenTextTo(ctx context.Context, ref dataset.FileRef, from, to int64) (*Text, error) {
	t := &Text{ref: ref, left: -1}
	if ref.Path == StdinPath {
		head, _, err := Stdin.Peek(ctx, sniffBytes)
		if err != nil {
			return nil, err
		}
		if t.r, err = Stdin.Open(ctx); err != nil {
			return nil, err
		}
		t.unpackAs(compressionOf(head))
		return t, t.pass(from)
	}
	named := Compression(ref.Path)
	h, err := s.fs.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	t.h = h
	start := from
	if named != "" {
		start = 0
	}
	if a, ok := h.(Advisor); ok {
		n := int64(0)
		if named == "" && to > start && to < ref.Size {
			n = to - start + textSlack
		}
		a.Sequential(start, n)
	}
	found, odd := named, false
	if start == 0 {
		in := &handleReader{ctx, h, 0}
		size := int64(magicBytes)
		if ref.Size <= smallBytes { // its bytes come with those that tell its compression
			size = max(size, ref.Size)
		}
		head := make([]byte, size)
		n, err := io.ReadFull(in, head)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, errors.Join(err, t.Close())
		}
		shown := compressionOf(head[:n])
		if odd = shown == ""; !odd {
			found = shown
		}
		t.r = io.MultiReader(bytes.NewReader(head[:n]), in)
	} else {
		t.r = &handleReader{ctx, h, start}
	}
	t.hidden = named == "" && found != ""
	if found == "" {
		t.left = ref.Size - start
		return t, nil
	}
	t.unpackAs(found)
	t.unpack.odd = odd
	return t, t.pass(from)
}

// unpackAs reads through a decompressor, if there is one.
func (t *Text) unpackAs(compression string) {
	if compression != "" {
		t.unpack = &unpacker{path: t.ref.Path, name: compression, in: t.r}
		t.r = t.unpack
	}
}

// pass reads up to a position.
func (t *Text) pass(n int64) error {
	if n <= 0 {
		return nil
	}
	if _, err := io.CopyN(io.Discard, t, n); err != nil && err != io.EOF {
		return errors.Join(err, t.Close())
	}
	return nil
}

// End is where a range ends whose text this is. A file that turns out to be compressed, though its name does not say so, is read to the end of its
// text, whose length nobody knows; one that was cut into several ranges for that cannot be read.
func (t *Text) End(r dataset.SplitRange) (uint64, error) {
	if !t.hidden || r.End == Unbounded {
		return r.End, nil
	}
	if r.Start == 0 && r.End >= uint64(r.File.Size) {
		return Unbounded, nil
	}
	return 0, fmt.Errorf("read %s: it is compressed with %s, and its name does not say so; files as big as that are cut into parts unless they are: rename it to %s",
		t.ref.Path, t.unpack.name, PackedExtension(t.ref.Path, t.unpack.name))
}

// Read implements io.Reader. A file that ends before its pinned size is a *ChangedError, compressed data that cannot be read a *DamagedError.
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
	if _, damaged := errors.AsType[*DamagedError](err); damaged && k > 0 {
		return head[:min(k, n)], false, nil // readers say what is wrong behind it
	}
	switch err {
	case nil:
		return head[:n], false, nil
	case io.EOF, io.ErrUnexpectedEOF:
		return head[:k], true, nil
	}
	return nil, false, err
}
