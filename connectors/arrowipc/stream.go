package arrowipc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset/codec/arrowmeta"
)

// stream is the input of what can only be read in order: standard input and compressed files. A file that comes this way is read as the
// stream that it begins as.
type stream struct {
	r      io.Reader
	text   *file.Text
	mem    memory.Allocator
	limit  int64
	schema *arrow.Schema
	fields []arrowmeta.Field
	body   *memory.Buffer // of the last message
	end    bool
}

// readPrefix reads the prefix of the next message; n is 0 at the end.
func readPrefix(r io.Reader) (prefix []byte, n int64, err error) {
	prefix = make([]byte, 8)
	switch k, err := io.ReadFull(r, prefix[:4]); {
	case err == io.EOF:
		return nil, 0, nil // a stream may end without its mark
	case err != nil:
		return nil, 0, fmt.Errorf("the stream is cut off after %d bytes of a message: %w", k, err)
	}
	if !bytes.Equal(prefix[:4], []byte{0xff, 0xff, 0xff, 0xff}) {
		prefix = prefix[:4]
	} else if _, err := io.ReadFull(r, prefix[4:]); err != nil {
		return nil, 0, err
	}
	_, n, err = parsePrefix(prefix)
	return prefix, n, err
}

// readMeta reads the rest of the message whose prefix was read, growing as its bytes come.
func readMeta(r io.Reader, prefix []byte, n int64) ([]byte, error) {
	var b bytes.Buffer
	b.Write(prefix)
	got, err := io.CopyN(&b, r, n)
	if err == io.EOF {
		err = fmt.Errorf("the stream is cut off: a message of %d bytes, %d are there", n, got)
	}
	return b.Bytes(), err
}

// readStreamSchema reads the schema at the start of a stream or of a file that is read as one.
func readStreamSchema(r io.Reader) (*arrow.Schema, []arrowmeta.Field, error) {
	prefix, n, err := readPrefix(r)
	if err == nil && prefix != nil && bytes.HasPrefix(prefix, []byte(magic[:4])) {
		return nil, nil, errDamaged
	}
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return nil, nil, errors.New("the stream ends before its schema")
	}
	b, err := readMeta(r, prefix, n)
	if err != nil {
		return nil, nil, err
	}
	return decodeSchema(b)
}

// sampleSchema reads the schema from the start of a stream.
func sampleSchema(head []byte) (*arrow.Schema, error) {
	rest, isFile := bytes.CutPrefix(head, []byte(magic+"\x00\x00"))
	s, _, err := readStreamSchema(bytes.NewReader(rest))
	return s, byFooter(err, isFile)
}

// byFooter adds to an error of the schema at the start of a file that its footer, which nobody has seen, may be sound.
func byFooter(err error, isFile bool) error {
	if err == nil || !isFile {
		return err
	}
	return fmt.Errorf("%w; of an Arrow file the schema at the end is the one that holds (Polars writes such files): read it from disk, uncompressed", err)
}

// open reads the schema.
func (s *stream) open() (err error) {
	head := make([]byte, firstAt)
	n, err := io.ReadFull(s.r, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return err
	}
	isFile := string(head) == magic+"\x00\x00"
	if !isFile {
		s.r = io.MultiReader(bytes.NewReader(head[:n]), s.r)
	}
	s.schema, s.fields, err = readStreamSchema(s.r)
	return byFooter(err, isFile)
}

func (s *stream) next(func(uint64) bool) (*message, fetch, error) {
	s.release()
	if s.end {
		return nil, nil, io.EOF
	}
	prefix, n, err := readPrefix(s.r)
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		s.end = true
		if _, err := io.Copy(io.Discard, s.r); err != nil { // a file's footer; a broken compressed file shows here
			return nil, nil, err
		}
		return nil, nil, io.EOF
	}
	b, err := readMeta(s.r, prefix, n)
	if err != nil {
		return nil, nil, err
	}
	m, err := parseMessage(b)
	if err != nil {
		return nil, nil, err
	}
	if err := s.readBody(m.body); err != nil {
		return nil, nil, err
	}
	return m, func(off, n int64) (*memory.Buffer, error) {
		if n == 0 {
			return memory.NewBufferBytes([]byte{}), nil
		}
		return memory.SliceBuffer(s.body, int(off), int(n)), nil
	}, nil
}

// firstStep is how much room a body gets before its bytes have come.
const firstStep = 1 << 20

// readBody reads a body, growing as its bytes come.
func (s *stream) readBody(n int64) error {
	if n > s.limit {
		return fmt.Errorf("a message of %d bytes, more than max_batch=%d; raise max_batch, or write smaller batches", n, s.limit)
	}
	s.body = memory.NewResizableBuffer(s.mem)
	for have := int64(0); have < n; {
		to := min(n, max(2*have, firstStep))
		s.body.Resize(int(to))
		k, err := io.ReadFull(s.r, s.body.Bytes()[have:])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return fmt.Errorf("the stream is cut off: a body of %d bytes, %d are there", n, have+int64(k))
		}
		if err != nil {
			return err
		}
		have = to
	}
	return nil
}

func (s *stream) release() {
	if s.body != nil {
		s.body.Release()
	}
	s.body = nil
}

// Check implements input.
func (s *stream) Check() error { return s.text.Check() }

// Close implements input.
func (s *stream) Close() error {
	s.release()
	return s.text.Close()
}
