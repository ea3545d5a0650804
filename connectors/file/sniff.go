package file

import "bytes"

// sniffBytes is how much Sniff wants to see.
const sniffBytes = 512

type magic struct {
	format string
	at     int
	bytes  string
}

// magics are the first bytes of the formats that standard input is recognised by.
var magics = []magic{
	{"parquet", 0, "PAR1"},
	{"arrow", 0, "ARROW1"},
	{"arrow", 0, "\xff\xff\xff\xff"},
	{"avro", 0, "Obj\x01"},
	{"jpeg", 0, "\xff\xd8\xff"},
	{"png", 0, "\x89PNG\r\n\x1a\n"},
	{"gif", 0, "GIF87a"},
	{"gif", 0, "GIF89a"},
	{"tiff", 0, "II*\x00"},
	{"tiff", 0, "MM\x00*"},
	{"webp", 8, "WEBP"},
	{"avif", 4, "ftypavif"},
	{"avif", 4, "ftypavis"},
	{"heic", 4, "ftypheic"},
	{"heic", 4, "ftypheix"},
	{"heif", 4, "ftypmif1"},
	{"heif", 4, "ftypmsf1"},
	{"wav", 8, "WAVE"},
	{"bmp", 0, "BM"},
	{"pdf", 0, "%PDF-"},
	{"zip", 0, "PK\x03\x04"},
	{"tar", 257, "ustar"},
}

// Sniff recognises a format by the first bytes of data: an extension that picks a reader, the name of a compression (IsCompression), or
// "jsonl" where nothing else is known.
func Sniff(head []byte) string {
	for _, m := range magics {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.bytes)) {
			if m.at == 8 && !bytes.HasPrefix(head, []byte("RIFF")) {
				continue
			}
			return m.format
		}
	}
	if c := compressionOf(head); c != "" {
		return c
	}
	return "jsonl"
}

// IsCompression reports whether a name that Sniff gave is that of a compression.
func IsCompression(name string) bool {
	_, err := findCodec(name)
	return err == nil
}
