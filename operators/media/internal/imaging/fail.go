package imaging

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// DecoderPanic is a panic of a decoder, turned into the error of one file.
type DecoderPanic struct {
	Value any
	Stack []byte
}

// Error says that the file is at fault as far as one can tell.
func (p *DecoderPanic) Error() string {
	return fmt.Sprintf("%v: decoder panicked: %v", ErrCorrupt, p.Value)
}

// Unwrap classes the failure as corrupt data.
func (p *DecoderPanic) Unwrap() error { return ErrCorrupt }

// recoverDecoder is deferred at every edge to a decoder: none of them is trusted with foreign bytes.
func recoverDecoder(err *error) {
	if v := recover(); v != nil {
		*err = &DecoderPanic{Value: v, Stack: debug.Stack()}
	}
}

// classify gives a decoder's error one of our classes, so that failures group, and keeps its words.
func classify(f Format, size int, err error) error {
	if err == nil || errors.Is(err, ErrTruncated) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrTooLarge) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), f.String()+": ")
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || strings.Contains(text, "unexpected EOF") || strings.Contains(text, "not enough") || strings.Contains(text, "short Huffman data") {
		return fmt.Errorf("%w: %s file ends after %d bytes, before its last pixel", ErrTruncated, f, size)
	}
	if strings.Contains(text, "unsupported") {
		return fmt.Errorf("%w: %s: %s", ErrUnsupported, f, text)
	}
	return fmt.Errorf("%w: %s: %s", ErrCorrupt, f, text)
}
