package csv

import (
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// decoder turns records into blocks. It is used by one goroutine.
type decoder struct {
	*parser
	ragged RaggedPolicy
	out    *arrow.Schema // of the blocks
	pin    *pinned
	cols   []column // of the blocks, in order, without the column of paths
	byName map[string]column
	paths  *textColumn[int32]

	names  []string // of the file's columns
	slots  []column // of the file's columns, in order; nil: passed over
	absent []column // those that the file lacks
	short  int64    // records filled with nulls, cut, or left out for being ragged
	long   int64
	left   int64

	rows   int
	runs   []block.Run
	hint   int // how many rows a run is made for
	maxRow int
	target int
}

// newDecoder makes a decoder of the columns of out for files of the pinned schema.
func newDecoder(mem memory.Allocator, opt Options, p *pinned, out *arrow.Schema, maxRows int, targetBytes int64) (*decoder, error) {
	ps, err := newParser(opt)
	if err != nil {
		return nil, err
	}
	d := &decoder{parser: ps, ragged: opt.Ragged, out: out, pin: p, byName: map[string]column{}, maxRow: max(maxRows, 1),
		target: int(min(max(targetBytes, 1), maxBlockBytes))}
	for _, f := range p.fields {
		if !out.HasField(f.Name) {
			continue
		}
		c, err := newColumn(mem, f.Type, p.given[f.Name])
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		d.cols = append(d.cols, c)
		d.byName[f.Name] = c
	}
	if opt.WithPath && out.HasField(PathColumn) {
		d.paths = newText[int32](mem, arrow.BinaryTypes.String)
	}
	return d, nil
}

// use sets the columns of the file that is read next. missing are the pinned ones that it lacks, unknown those that it has besides.
func (d *decoder) use(names []string) (missing, unknown []string) {
	d.names = names
	d.slots = make([]column, len(names))
	d.absent = nil
	has := make(map[string]bool, len(names))
	for i, name := range names {
		d.slots[i] = d.byName[name]
		has[name] = true
		if _, ok := d.pin.index[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	for _, f := range d.pin.fields {
		if has[f.Name] {
			continue
		}
		missing = append(missing, f.Name)
		if c := d.byName[f.Name]; c != nil {
			d.absent = append(d.absent, c)
		}
	}
	return missing, unknown
}

// record parses the record at buf[i] as the next row and returns the position after it. Blank lines, comments and skipped records give no
// row. incomplete and failed leave the columns as they were.
func (d *decoder) record(i int) (next int, row bool) {
	if next, blank := d.blank(i); blank {
		return next, false
	}
	p := d.parser
	last := len(d.slots) - 1
	for k, col := range d.slots {
		var end int
		if col != nil {
			end = col.parse(p, i)
		} else {
			end = p.skip(i)
		}
		if end < 0 {
			p.fail.column = k
			d.undo(d.rows)
			return end, false
		}
		i = end + 1
		if p.buf[end] == '\n' {
			if k < last {
				return d.tooShort(k+1, i)
			}
			d.done()
			return i, true
		}
	}
	return d.tooLong(i)
}

func (d *decoder) done() {
	for _, c := range d.absent {
		c.Null()
	}
	d.rows++
}

// undo drops every row from n on.
func (d *decoder) undo(n int) {
	for _, c := range d.cols {
		c.Truncate(n)
	}
	d.rows = n
}

// tooShort ends a record of n fields at i.
func (d *decoder) tooShort(n, i int) (next int, row bool) {
	switch d.ragged {
	case RaggedNull:
		for _, c := range d.slots[n:] {
			if c != nil {
				c.Null()
			}
		}
		d.short++
		d.done()
		return i, true
	case RaggedSkip:
		d.undo(d.rows)
		d.left++
		return i, false
	}
	d.undo(d.rows)
	return d.misfit(n), false
}

// tooLong passes the fields at i that no column has.
func (d *decoder) tooLong(i int) (next int, row bool) {
	n := len(d.slots)
	for {
		end := d.skip(i)
		if end < 0 {
			d.fail.column = n
			d.undo(d.rows)
			return end, false
		}
		n++
		i = end + 1
		if d.buf[end] == '\n' {
			break
		}
	}
	switch d.ragged {
	case RaggedNull:
		d.long++
		d.done()
		return i, true
	case RaggedSkip:
		d.undo(d.rows)
		d.left++
		return i, false
	}
	d.undo(d.rows)
	return d.misfit(n), false
}

// misfit reports a record of n fields.
func (d *decoder) misfit(n int) int {
	d.fail = failure{column: -1, why: fmt.Sprintf("has %s, and the file has %s", several(n, "field"), several(len(d.slots), "column")), class: "wrong number of fields",
		remedy: "pass ragged=null to fill or cut such records, or ragged=skip to leave them out"}
	if d.comment == 0 && len(d.names) > 0 && strings.HasPrefix(d.names[0], "#") {
		d.fail.remedy = `pass comment="#" if lines that begin so are comments`
	}
	return failed
}

// several is a number of things in words.
func several(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// place records where the row just parsed is.
func (d *decoder) place(f *block.File, path string, pos uint64) {
	if d.paths != nil {
		d.paths.Push([]byte(path))
	}
	if n := len(d.runs); n > 0 {
		if r := &d.runs[n-1]; r.File == f && pos-r.First <= math.MaxUint32 {
			r.Offsets = append(r.Offsets, uint32(pos-r.First))
			r.N++
			return
		}
	}
	d.runs = append(d.runs, block.Run{File: f, First: pos, N: 1, Offsets: append(make([]uint32, 0, max(64, d.hint)), 0)})
}

// forget drops all rows since the last block, and what was counted of them.
func (d *decoder) forget() {
	d.undo(0)
	if d.paths != nil {
		d.paths.Truncate(0)
	}
	d.runs = nil
	d.short, d.long, d.left = 0, 0, 0
}

// full reports whether the block should be closed.
func (d *decoder) full() bool {
	if d.rows >= d.maxRow {
		return true
	}
	n := 0
	for _, c := range d.cols {
		n += c.Bytes()
	}
	if d.paths != nil {
		n += d.paths.Bytes()
	}
	return n >= d.target
}

// take closes the block.
func (d *decoder) take() *block.Block {
	all := d.cols
	if d.paths != nil {
		all = append(all[:len(all):len(all)], d.paths)
	}
	cols := make([]arrow.Array, len(all))
	for i, c := range all {
		data := c.Take()
		cols[i] = array.MakeFromData(data)
		data.Release()
	}
	rec := block.FromColumns(d.out, cols, d.rows)
	for _, c := range cols {
		c.Release()
	}
	b := block.New(rec, block.FromRuns(d.runs...))
	d.hint = d.rows + d.rows/16 // blocks of one source are alike
	d.rows, d.runs = 0, nil
	return b
}

func (d *decoder) release() {
	for _, c := range d.cols {
		c.Release()
	}
	if d.paths != nil {
		d.paths.Release()
	}
}
