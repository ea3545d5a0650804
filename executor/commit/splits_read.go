package commit

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// splitView is a split in a record. It and everything it refers to is valid only during the call it is passed to: a log may hold ten
// million of them, most of which nobody wants to keep.
type splitView struct {
	source uint32
	bytes  int64
	ranges []rangeView
}

// rangeView is one range of a splitView.
type rangeView struct {
	file       *fileView
	sameFile   bool // as the range before it in the record
	ordinal    uint64
	start, end uint64
}

// fileView is a file of a splitView.
type fileView struct {
	path, etag    []byte
	size          int64
	mark          uint64
	timed         bool
	seconds, nano int64
}

// ref returns a copy that lasts.
func (f *fileView) ref() dataset.FileRef {
	out := dataset.FileRef{Path: string(f.path), Size: f.size, ETag: string(f.etag), Mark: f.mark}
	if f.timed {
		out.ModTime = time.Unix(f.seconds, f.nano).UTC()
	}
	return out
}

// copy makes f a copy of g that lasts until the next copy.
func (f *fileView) copy(g *fileView) {
	path, etag := append(f.path[:0], g.path...), append(f.etag[:0], g.etag...)
	*f = *g
	f.path, f.etag = path, etag
}

// split returns a copy that lasts, without identities. The ranges of one file share its reference.
func (v *splitView) split() dataset.Split {
	out := dataset.Split{Bytes: v.bytes, Ranges: make([]dataset.SplitRange, len(v.ranges))}
	for i := range v.ranges {
		r := &v.ranges[i]
		out.Ranges[i] = dataset.SplitRange{Start: r.start, End: r.end}
		if i > 0 && r.file == v.ranges[i-1].file {
			out.Ranges[i].File = out.Ranges[i-1].File
		} else {
			out.Ranges[i].File = r.file.ref()
		}
	}
	return out
}

// splitsDecoder reads records of splits. Its memory is used again from record to record.
type splitsDecoder struct {
	decoder
	view    splitView
	files   []*fileView // of the split in hand; the first is the one that the split before ended with
	used    int
	ordinal uint64
	seconds int64
	any     bool
}

// walk calls visit with the splits of a record.
func (d *splitsDecoder) walk(payload []byte, visit func(v *splitView) error) error {
	d.decoder = decoder{p: payload}
	d.ordinal, d.seconds, d.any, d.used = 0, 0, false, 0
	for len(d.p) > 0 {
		d.carry()
		d.view.source, d.view.bytes = uint32(d.uvarint()), d.varint()
		n := d.uvarint()
		if n > uint64(len(d.p)) { // each range takes a byte at least
			d.fail(errShort)
		}
		d.view.ranges = d.view.ranges[:0]
		for ; n > 0 && d.err == nil; n-- {
			d.view.ranges = append(d.view.ranges, d.nextRange())
		}
		if d.err != nil {
			return d.err
		}
		if err := visit(&d.view); err != nil {
			return err
		}
	}
	return d.err
}

// carry keeps the file that the last split ended with, which the next may refer to, and frees the others for use again.
func (d *splitsDecoder) carry() {
	if d.used > 1 {
		d.files[0], d.files[d.used-1] = d.files[d.used-1], d.files[0]
	}
	d.used = min(d.used, 1)
}

// newFile returns a file to fill in, and the one before.
func (d *splitsDecoder) newFile() (f, before *fileView) {
	if d.used == len(d.files) {
		d.files = append(d.files, &fileView{})
	}
	if f = d.files[d.used]; d.used > 0 {
		before = d.files[d.used-1]
	}
	d.used++
	return f, before
}

func (d *splitsDecoder) nextRange() rangeView {
	flags := byte(0)
	if f := d.bytes(1); f != nil {
		flags = f[0]
	}
	if flags&rangeSameFile == 0 {
		d.nextFile(flags)
	} else if !d.any {
		d.fail(errors.New("a record of splits begins with a reference to the file before"))
	}
	r := rangeView{ordinal: d.ordinal, end: 1, sameFile: flags&rangeSameFile != 0}
	if d.err == nil {
		r.file = d.files[d.used-1]
	}
	if flags&rangeWhole == 0 {
		r.start = d.uvarint()
		r.end = r.start + d.uvarint()
	}
	return r
}

func (d *splitsDecoder) nextFile(flags byte) {
	f, before := d.newFile()
	shared, have := d.uvarint(), 0
	if before != nil {
		have = len(before.path)
	}
	if shared > uint64(have) {
		d.fail(fmt.Errorf("a path shares %d bytes with one of %d", shared, have))
		return
	}
	f.path = f.path[:0]
	if before != nil {
		f.path = append(f.path, before.path[:shared]...)
	}
	f.path = append(f.path, d.bytes(d.uvarint())...)
	f.size, f.timed, f.mark, f.etag = d.varint(), flags&rangeModTime != 0, 0, f.etag[:0]
	if f.timed {
		d.seconds += d.varint()
		f.seconds, f.nano = d.seconds, int64(d.uvarint()%1e9)
	}
	if flags&rangeETag != 0 {
		f.etag = append(f.etag, d.bytes(d.uvarint())...)
	}
	if flags&rangeMark != 0 {
		f.mark = d.uvarint()
	}
	if flags&rangeOrdinal != 0 {
		d.ordinal = d.uvarint()
	} else {
		d.ordinal++
	}
	d.any = true
}

// journaled is a split as the log holds it.
type journaled struct {
	source   uint32
	split    dataset.Split
	ordinals []uint64 // of each range
}

// decodeSplits calls visit with copies of the splits of a record.
func decodeSplits(payload []byte, visit func(j journaled) error) error {
	var d splitsDecoder
	return d.walk(payload, func(v *splitView) error {
		j := journaled{source: v.source, split: v.split()}
		for i := range v.ranges {
			j.ordinals = append(j.ordinals, v.ranges[i].ordinal)
		}
		if len(v.ranges) == 0 {
			j.split.Ranges = nil
		}
		return visit(j)
	})
}
