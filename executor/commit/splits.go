package commit

import (
	"encoding/binary"
	"errors"

	"github.com/sluice-data/sluice/dataset"
)

// flags of a range in a record of splits.
const (
	rangeSameFile = 1 << iota // the file of the range before it in the record: path, version and ordinal are left out
	rangeWhole                // from 0 to 1
	rangeModTime
	rangeETag
	rangeOrdinal // the ordinal is given, else it is one above that of the file before
	rangeMark    // the file's mark is given
)

// splitsEncoder gathers splits for one record. Paths are stored by what they share with the one before, ordinals and times by
// difference: a split of one small file takes its own part of the path and about 15 bytes.
type splitsEncoder struct {
	buf  []byte
	prev fileState
}

// fileState is the file before.
type fileState struct {
	path    string
	ordinal uint64
	seconds int64
	any     bool
}

func (e *splitsEncoder) empty() bool { return len(e.buf) == 0 }
func (e *splitsEncoder) size() int   { return len(e.buf) }

// take returns the record, valid until the next add, and begins another.
func (e *splitsEncoder) take() []byte {
	out := e.buf
	e.buf, e.prev = e.buf[:0], fileState{}
	return out
}

func (e *splitsEncoder) add(source uint32, s *dataset.Split, ordinals []uint64) {
	b := binary.AppendUvarint(e.buf, uint64(source))
	b = binary.AppendVarint(b, s.Bytes)
	b = binary.AppendUvarint(b, uint64(len(s.Ranges)))
	for i := range s.Ranges {
		b = e.addRange(b, &s.Ranges[i], ordinals[i])
	}
	e.buf = b
}

func (e *splitsEncoder) addRange(b []byte, r *dataset.SplitRange, ordinal uint64) []byte {
	var flags byte
	if e.prev.any && ordinal == e.prev.ordinal && r.File.Path == e.prev.path {
		flags |= rangeSameFile
	}
	if r.Start == 0 && r.End == 1 {
		flags |= rangeWhole
	}
	if flags&rangeSameFile == 0 {
		if !r.File.ModTime.IsZero() {
			flags |= rangeModTime
		}
		if r.File.ETag != "" {
			flags |= rangeETag
		}
		if r.File.Mark != 0 {
			flags |= rangeMark
		}
		if !e.prev.any || ordinal != e.prev.ordinal+1 {
			flags |= rangeOrdinal
		}
	}
	b = append(b, flags)
	if flags&rangeSameFile == 0 {
		b = e.addFile(b, flags, r.File, ordinal)
	}
	if flags&rangeWhole == 0 {
		b = binary.AppendUvarint(b, r.Start)
		b = binary.AppendUvarint(b, r.End-r.Start)
	}
	return b
}

func (e *splitsEncoder) addFile(b []byte, flags byte, f dataset.FileRef, ordinal uint64) []byte {
	shared := 0
	for shared < min(len(f.Path), len(e.prev.path)) && f.Path[shared] == e.prev.path[shared] {
		shared++
	}
	b = binary.AppendUvarint(b, uint64(shared))
	b = binary.AppendUvarint(b, uint64(len(f.Path)-shared))
	b = append(b, f.Path[shared:]...)
	b = binary.AppendVarint(b, f.Size)
	if flags&rangeModTime != 0 {
		b = binary.AppendVarint(b, f.ModTime.Unix()-e.prev.seconds)
		b = binary.AppendUvarint(b, uint64(f.ModTime.Nanosecond()))
		e.prev.seconds = f.ModTime.Unix()
	}
	if flags&rangeETag != 0 {
		b = binary.AppendUvarint(b, uint64(len(f.ETag)))
		b = append(b, f.ETag...)
	}
	if flags&rangeMark != 0 {
		b = binary.AppendUvarint(b, f.Mark)
	}
	if flags&rangeOrdinal != 0 {
		b = binary.AppendUvarint(b, ordinal)
	}
	e.prev.path, e.prev.ordinal, e.prev.any = f.Path, ordinal, true
	return b
}

var errShort = errors.New("a record of splits ends early")

// decoder reads varints and remembers that one was missing.
type decoder struct {
	p   []byte
	err error
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.p)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.p)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.p)) {
		d.fail(errShort)
		return nil
	}
	out := d.p[:n]
	d.p = d.p[n:]
	return out
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.p = nil
}
