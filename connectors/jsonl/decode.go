package jsonl

import (
	"bytes"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// decoder turns lines into blocks. It is used by one goroutine.
type decoder struct {
	scanner
	out    *arrow.Schema // of the blocks
	obj    *object
	extras *extraColumn
	paths  *textColumn[int32]
	rows   int
	runs   []block.Run
	maxRow int
	target int
}

// newDecoder makes a decoder of the columns of out for lines of the pinned schema; other keys of that are passed over.
func newDecoder(mem memory.Allocator, opt Options, p *pinned, out *arrow.Schema, maxRows int, targetBytes int64) (*decoder, error) {
	d := &decoder{out: out, maxRow: max(maxRows, 1), target: int(min(max(targetBytes, 1), maxBlockBytes))}
	d.maxDepth, d.replace = opt.MaxDepth, opt.Invalid == InvalidReplace
	var want []arrow.Field
	for _, f := range p.fields {
		if out.HasField(f.Name) {
			want = append(want, f)
		}
	}
	obj, err := newObject(mem, want)
	if err != nil {
		return nil, err
	}
	d.obj = obj
	for _, f := range p.fields {
		obj.ignore(f.Name)
	}
	if opt.Extra == ExtraError {
		obj.refuseExtras()
	}
	if opt.Extra == ExtraColumn && out.HasField(ExtraColumnName) {
		d.extras = &extraColumn{col: newStrings(mem)}
		obj.onKey = d.extras.add
	}
	if opt.WithPath && out.HasField(PathColumn) {
		d.paths = newStrings(mem)
	}
	return d, nil
}

func newStrings(mem memory.Allocator) *textColumn[int32] {
	return &textColumn[int32]{bytesColumn: newBytes[int32](mem, arrow.BinaryTypes.String)}
}

// line parses the line at buf[i] as the next row and returns the position after its newline. blank lines give no row. On failure it
// returns -1 and the columns are as before.
func (d *decoder) line(i int) (next int, row bool) {
	i = d.space(i)
	if d.buf[i] == '\n' {
		return i + 1, false
	}
	d.depth = 0
	if d.buf[i] != '{' {
		if j := d.skip(i); j >= 0 {
			d.fail(i, "the line is "+kindAt(d.buf, i)+", not an object")
		}
		return -1, false
	}
	if d.extras != nil {
		d.extras.begin()
	}
	if i = d.obj.parse(&d.scanner, i, d.rows); i >= 0 {
		i = d.space(i)
		if d.buf[i] != '\n' {
			i = d.fail(i, "more text after the object")
		}
	}
	if i < 0 {
		d.obj.truncate(d.rows)
		return -1, false
	}
	if d.extras != nil {
		d.extras.end()
	}
	d.rows++
	return i + 1, true
}

// undo drops the row that was just parsed.
func (d *decoder) undo() {
	d.rows--
	d.obj.truncate(d.rows)
	if d.extras != nil {
		d.extras.col.truncate(d.rows)
	}
}

// place records where the row just parsed is.
func (d *decoder) place(f *block.File, path string, pos uint64) {
	if d.paths != nil {
		d.paths.push([]byte(path))
	}
	if n := len(d.runs); n > 0 {
		if r := &d.runs[n-1]; r.File == f && pos-r.First <= math.MaxUint32 {
			r.Offsets = append(r.Offsets, uint32(pos-r.First))
			r.N++
			return
		}
	}
	d.runs = append(d.runs, block.Run{File: f, First: pos, N: 1, Offsets: append(make([]uint32, 0, 64), 0)})
}

// bytes is the size of the block being built.
func (d *decoder) bytes() int {
	n := d.obj.bytes()
	if d.extras != nil {
		n += d.extras.col.bytes()
	}
	if d.paths != nil {
		n += d.paths.bytes()
	}
	return n
}

// full reports whether the block should be closed.
func (d *decoder) full() bool { return d.rows >= d.maxRow || d.bytes() >= d.target }

// take closes the block.
func (d *decoder) take() *block.Block {
	datas := d.obj.take()
	if d.extras != nil {
		datas = append(datas, d.extras.col.take())
	}
	if d.paths != nil {
		datas = append(datas, d.paths.take())
	}
	cols := make([]arrow.Array, len(datas))
	for i, data := range datas {
		cols[i] = array.MakeFromData(data)
		data.Release()
	}
	rec := block.FromColumns(d.out, cols, d.rows)
	for _, c := range cols {
		c.Release()
	}
	b := block.New(rec, block.FromRuns(d.runs...))
	d.rows, d.runs = 0, nil
	return b
}

func (d *decoder) release() {
	d.obj.release()
	if d.extras != nil {
		d.extras.col.release()
	}
	if d.paths != nil {
		d.paths.release()
	}
}

// lineEnd is the position after the newline of the line at buf[i].
func (d *decoder) lineEnd(i int) int {
	return i + bytes.IndexByte(d.buf[i:], '\n') + 1
}

// extraColumn collects the keys that the schema lacks as a JSON object per row.
type extraColumn struct {
	col  *textColumn[int32]
	text []byte
}

func (e *extraColumn) begin() { e.text = append(e.text[:0], '{') }

// add takes one key and value as they stand in the file.
func (e *extraColumn) add(s *scanner, at, colon, value, end int) {
	if len(e.text) > 1 {
		e.text = append(e.text, ',')
	}
	e.text = append(e.text, s.buf[at:colon]...)
	e.text = append(e.text, ':')
	e.text = append(e.text, s.buf[value:end]...)
}

func (e *extraColumn) end() {
	if len(e.text) == 1 {
		e.col.null()
		return
	}
	e.text = append(e.text, '}')
	if !validText(e.text) {
		e.text = appendValid(nil, e.text)
	}
	e.col.push(e.text)
}
