package avro

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

const (
	magic     = "Obj\x01"
	syncBytes = 16
	maxHeader = 16 << 20
	freeItems = 1 << 20 // items without bytes, as nulls are, that a block or an array may claim
)

// errDamaged is what every structural fault of a file is.
var errDamaged = errors.New("the file is damaged")

// header is the start of a container.
type header struct {
	schema string
	codec  string
	sync   [syncBytes]byte
	size   int64
}

// counter counts what was read through it.
type counter struct {
	r *bufio.Reader
	n int64
}

// ReadByte implements io.ByteReader.
func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("the file is cut off")
	}
	return err
}

// readHeader reads the header.
func readHeader(c *counter) (*header, error) {
	h := &header{codec: "null"}
	var m [len(magic)]byte
	if n, err := io.ReadFull(c, m[:]); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	} else if string(m[:n]) != magic {
		return nil, errors.New("this is not an Avro object container file: its first bytes are not Obj and 1")
	}
	for {
		n, err := binary.ReadVarint(c)
		if err != nil {
			return nil, cut(err)
		}
		if n == 0 {
			break
		}
		if n < 0 {
			if _, err := binary.ReadVarint(c); err != nil {
				return nil, cut(err)
			}
			n = -n
		}
		for range n {
			key, err := readBytes(c)
			if err != nil {
				return nil, err
			}
			value, err := readBytes(c)
			if err != nil {
				return nil, err
			}
			switch string(key) {
			case "avro.schema":
				h.schema = string(value)
			case "avro.codec":
				h.codec = string(value)
			}
		}
	}
	if _, err := io.ReadFull(c, h.sync[:]); err != nil {
		return nil, cut(err)
	}
	if h.schema == "" {
		return nil, fmt.Errorf("%w: its header has no schema", errDamaged)
	}
	h.size = c.n
	return h, nil
}

func readBytes(c *counter) ([]byte, error) {
	n, err := binary.ReadVarint(c)
	if err != nil {
		return nil, cut(err)
	}
	if n < 0 || n+c.n > maxHeader {
		return nil, fmt.Errorf("%w: a header of more than %d bytes", errDamaged, maxHeader)
	}
	var b bytes.Buffer
	_, err = io.CopyN(&b, c, n)
	return b.Bytes(), cut(err)
}

// blockHead reads the head of the next block. io.EOF ends the file.
func blockHead(c *counter) (rows uint64, size int64, err error) {
	if _, err := c.r.Peek(1); err != nil {
		return 0, 0, err
	}
	n, err := binary.ReadVarint(c)
	if err == nil {
		size, err = binary.ReadVarint(c)
	}
	switch {
	case err != nil:
		return 0, 0, cut(err)
	case n < 0 || size < 0:
		return 0, 0, fmt.Errorf("%w: a block of %d rows and %d bytes", errDamaged, n, size)
	}
	return uint64(n), size, nil
}

// unpacker decompresses blocks.
type unpacker struct {
	codec string
	limit int64
	buf   []byte
	zstd  *zstd.Decoder
}

func newUnpacker(codec string, limit dataset.ByteSize) (*unpacker, error) {
	u := &unpacker{codec: codec, limit: int64(limit)}
	switch codec {
	case "null", "deflate", "snappy", "bzip2", "xz":
	case "zstandard":
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(limit)), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, err
		}
		u.zstd = z
	default:
		return nil, fmt.Errorf("codec %q is not supported; write with deflate, snappy, zstandard, bzip2 or xz", codec)
	}
	return u, nil
}

func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// unpack gives the data of a block; it is valid until the next call.
func (u *unpacker) unpack(p []byte) ([]byte, error) {
	var err error
	switch u.codec {
	case "null":
		return p, nil
	case "deflate":
		return u.drain(flate.NewReader(bytes.NewReader(p)))
	case "bzip2", "xz":
		z, err := file.Decompress(bytes.NewReader(p), u.codec)
		if err != nil {
			return nil, err
		}
		return u.drain(z)
	case "snappy":
		if len(p) < 4 {
			return nil, fmt.Errorf("%w: a snappy block of %d bytes", errDamaged, len(p))
		}
		body, sum := p[:len(p)-4], binary.BigEndian.Uint32(p[len(p)-4:])
		n, err := snappy.DecodedLen(body)
		if err == nil && int64(n) > u.limit {
			err = u.tooLarge()
		}
		if err != nil {
			return nil, err
		}
		if n > 32*len(body)+64 { // snappy's copies give no more
			return nil, fmt.Errorf("%w: a snappy block of %d bytes claims %d", errDamaged, len(body), n)
		}
		if u.buf, err = snappy.Decode(u.buf[:cap(u.buf)], body); err == nil && crc32.ChecksumIEEE(u.buf) != sum {
			err = fmt.Errorf("%w: the checksum of a snappy block does not match", errDamaged)
		}
		return u.buf, err
	}
	u.buf, err = u.zstd.DecodeAll(p, u.buf[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = u.tooLarge()
	}
	return u.buf, err
}

// drain reads a decompressor to its end, or to the limit.
func (u *unpacker) drain(z io.ReadCloser) ([]byte, error) {
	var b bytes.Buffer
	_, err := io.Copy(&b, io.LimitReader(z, u.limit+1))
	closed := z.Close()
	switch {
	case err != nil: // some say it again when they are closed
	case int64(b.Len()) > u.limit:
		err = u.tooLarge()
	default:
		err = closed
	}
	return b.Bytes(), err
}

func (u *unpacker) tooLarge() error {
	return fmt.Errorf("the block has more than max_block=%s; raise max_block to read it", dataset.ByteSize(u.limit))
}
