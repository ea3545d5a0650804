package imaging

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Format is the file format of an encoded picture, detected from its first bytes and never
// from a file name.
type Format uint8

// The formats that are decoded.
const (
	Unknown Format = iota
	JPEG
	PNG
	GIF
	BMP
	TIFF
	WebP
	AVIF
	HEIC
)

// String gives the lower-case name that the format column holds.
func (f Format) String() string {
	switch f {
	case JPEG:
		return "jpeg"
	case PNG:
		return "png"
	case GIF:
		return "gif"
	case BMP:
		return "bmp"
	case TIFF:
		return "tiff"
	case WebP:
		return "webp"
	case AVIF:
		return "avif"
	case HEIC:
		return "heic"
	default:
		return "unknown"
	}
}

// Detect finds the format by magic bytes.
func Detect(data []byte) Format {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return JPEG
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return PNG
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return GIF
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return WebP
	case bytes.HasPrefix(data, []byte("II*\x00")), bytes.HasPrefix(data, []byte("MM\x00*")):
		return TIFF
	case len(data) >= 26 && string(data[:2]) == "BM":
		return BMP
	case isHEIF(data):
		if strings.HasPrefix(brands(data)[0], "avi") {
			return AVIF
		}
		return HEIC // or AVIF under a brand of HEIF: its header says
	default:
		return Unknown
	}
}

const decodedFormats = "JPEG, PNG, GIF, BMP, TIFF, WebP, AVIF or HEIC"

// describeUnknown says what a file that is no picture looks like, since a web page saved
// under a picture's name is the usual case.
func describeUnknown(data []byte) error {
	if len(data) == 0 {
		return ErrEmpty
	}
	head := data[:min(len(data), 512)]
	text := strings.ToLower(strings.TrimSpace(string(head)))
	for _, known := range []struct{ prefix, name string }{
		{"<!doctype html", "an HTML page"}, {"<html", "an HTML page"},
		{"<?xml", "an XML document"}, {"<svg", "an SVG drawing"},
		{"{", "a JSON document"}, {"%pdf", "a PDF document"}, {"pk\x03\x04", "a ZIP archive"},
		{"\x1f\x8b", "gzip data"},
	} {
		if strings.HasPrefix(text, known.prefix) {
			return fmt.Errorf("%w: content looks like %s", ErrNotImage, known.name)
		}
	}
	if len(data) >= 12 && string(data[4:8]) == "ftyp" {
		return fmt.Errorf("%w: %q files (MP4, QuickTime) are not pictures", ErrUnsupported, string(data[8:12]))
	}
	for _, known := range []struct{ prefix, name string }{
		{"\xff\x0a", "JPEG XL"}, {"\x00\x00\x00\x0cJXL ", "JPEG XL"}, {"\x00\x00\x00\x0cjP  ", "JPEG 2000"}, {"\xff\x4f\xff\x51", "JPEG 2000"},
	} {
		if bytes.HasPrefix(data, []byte(known.prefix)) {
			return fmt.Errorf("%w: %s is not decoded; want %s", ErrUnsupported, known.name, decodedFormats)
		}
	}
	shown := head[:min(len(head), 16)]
	if utf8.Valid(shown) {
		return fmt.Errorf("%w: content starts with %q; want %s", ErrNotImage, shown, decodedFormats)
	}
	return fmt.Errorf("%w: content starts with bytes %x; want %s", ErrNotImage, shown, decodedFormats)
}
