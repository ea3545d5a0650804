package webdataset

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/connectors/internal/columns"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// input is what the archive is read from.
type input interface {
	Check() error
	Close() error
}

// rows reads the samples of one range.
type rows struct {
	ctx    context.Context
	rt     dataset.Runtime
	opt    Options
	rng    dataset.SplitRange
	from   uint64
	want   *arrow.Schema
	in     input
	e      *entries
	cols   []columns.Binary[int32]
	index  map[string]int        // of the columns
	known  func(ext string) bool // of the pinned schema: what is only not wanted
	rest   io.Reader             // what is read in order is read to its end, where its checksum is
	set    []bool                // columns of the present sample that have a value
	at     []uint64              // positions of the samples in cols
	ahead  *member               // read and not used yet
	done   bool
	target int64
	max    int
}

func newRows(ctx context.Context, rt dataset.Runtime, opt Options, r dataset.SplitRange, from uint64, want *arrow.Schema) *rows {
	s := &rows{ctx: ctx, rt: rt, opt: opt, rng: r, from: from, want: want, index: map[string]int{}, set: make([]bool, want.NumFields()),
		target: min(max(rt.BlockBytes(), 1), maxBlockBytes), max: max(rt.BlockRows(), 1)}
	for i, f := range want.Fields() {
		s.index[f.Name] = i
		s.cols = append(s.cols, columns.NewBinary[int32](rt.Allocator(), f.Type))
	}
	return s
}

// Next implements tables.Rows.
func (r *rows) Next(ctx context.Context) (arrow.RecordBatch, []block.Run, error) {
	for !r.done && len(r.at) < r.max && (len(r.at) == 0 || r.bytes() < r.target) {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		switch err := r.sample(); {
		case err == io.EOF:
			r.done = true
			if r.rest != nil {
				if _, err := io.Copy(io.Discard, r.rest); err != nil {
					return nil, nil, err
				}
			}
		case err != nil:
			return nil, nil, err
		}
	}
	if len(r.at) == 0 {
		return nil, nil, io.EOF
	}
	return r.take()
}

func (r *rows) bytes() int64 {
	n := 0
	for i := range r.cols {
		n += r.cols[i].Bytes()
	}
	return int64(n)
}

// next gives the next member that counts.
func (r *rows) next() (member, error) {
	if m := r.ahead; m != nil {
		r.ahead = nil
		return *m, nil
	}
	for {
		if r.ctx.Err() != nil {
			return member{}, context.Cause(r.ctx)
		}
		m, err := r.e.next()
		if err != nil || !m.skip {
			return m, err
		}
	}
}

// sample reads one sample, or passes over it when it lies before the range. io.EOF ends the range.
func (r *rows) sample() error {
	m, err := r.next()
	if err != nil {
		return err
	}
	if m.at >= r.rng.End {
		return io.EOF
	}
	first, key, n := m.at, m.key, len(r.at)
	clear(r.set)
	wanted := first >= r.from
	if i, ok := r.index[KeyColumn]; ok && wanted {
		r.cols[i].Push([]byte(key))
		r.set[i] = true
	}
	var failed error
	for {
		if wanted && failed == nil {
			var bad *sampleError
			if err := r.member(m); errors.As(err, &bad) {
				failed = err
			} else if err != nil {
				return err
			}
		}
		if m, err = r.next(); err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if m.key != key {
			r.ahead = &m
			break
		}
	}
	switch {
	case !wanted:
		return nil
	case failed != nil:
		for i := range r.cols {
			r.cols[i].Truncate(n)
		}
		row := dataset.FailedRow(r.rng.ID, first)
		defer row.Release()
		return r.rt.Fail(row, 0, fmt.Errorf("sample %q: %w", key, failed))
	}
	for i, ok := range r.set {
		if !ok {
			r.cols[i].Null()
		}
	}
	r.at = append(r.at, first)
	return nil
}

// readStep is how much room a member gets before its bytes have come.
const readStep = 1 << 20

// member reads one member into its column.
func (r *rows) member(m member) error {
	if m.bad != nil {
		return m.bad
	}
	i, ok := r.index[m.ext]
	switch {
	case m.ext == KeyColumn:
		return &sampleError{"reserved extension", fmt.Errorf("member %q: the extension %s is that of the key; rename it", m.name, KeyColumn)}
	case !ok:
		if !r.known(m.ext) {
			r.rt.Warn("extension is not in the first samples and left out", fmt.Sprintf("%s has the member %q", r.rng.File.Path, m.name))
		}
		return nil
	case r.set[i]:
		return &sampleError{"extension twice", fmt.Errorf("member %q: its sample has a .%s already", m.name, m.ext)}
	case m.size > int64(r.opt.MaxMember):
		return &sampleError{"member too large", fmt.Errorf("member %q has %d bytes, more than max_member=%s; raise max_member to read it", m.name, m.size, r.opt.MaxMember)}
	}
	c := &r.cols[i]
	for left := m.size; left > 0; {
		room := c.Data.Room(int(min(left, readStep)))
		k, err := io.ReadFull(r.e.tar, room[:min(int64(len(room)), left)])
		c.Data.N += k
		left -= int64(k)
		if err != nil {
			return fmt.Errorf("tar entry %d, member %q: %d bytes are missing: %w", m.at, m.name, left, err)
		}
	}
	c.End()
	r.set[i] = true
	return nil
}

// take makes the batch of what was read.
func (r *rows) take() (arrow.RecordBatch, []block.Run, error) {
	cols := make([]arrow.Array, len(r.cols))
	for i := range r.cols {
		d := r.cols[i].Take()
		cols[i] = array.MakeFromData(d)
		d.Release()
		defer cols[i].Release()
	}
	rec := array.NewRecordBatch(r.want, cols, int64(len(r.at)))
	var runs []block.Run
	for _, p := range r.at { // samples of one size make one run
		if n := len(runs); n > 0 {
			last := &runs[n-1]
			if last.N == 1 && p-last.First < 1<<31 {
				last.Stride = uint32(p - last.First)
			}
			if last.First+uint64(last.N)*uint64(last.Stride) == p {
				last.N++
				continue
			}
		}
		runs = append(runs, block.Run{First: p, N: 1, Stride: 1})
	}
	r.at = r.at[:0]
	return rec, runs, nil
}

// Check implements tables.Rows.
func (r *rows) Check() error { return r.in.Check() }

// Close implements tables.Rows.
func (r *rows) Close() error {
	for i := range r.cols {
		r.cols[i].Release()
	}
	return r.in.Close()
}
