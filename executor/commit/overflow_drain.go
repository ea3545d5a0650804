package commit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// drain writes what overflowed of a generation to one part a key, one after the other: while one is written, those before it are made
// durable. It frees the memory and the disk space, also when it fails; then none of the parts counts.
func (m *Manager) drain(ctx context.Context, o *overflow) (receipts []dataset.Receipt, err error) {
	defer o.release()
	o.mu.Lock()
	defer o.mu.Unlock()
	d := &drainer{m: m, o: o, ctx: ctx, receipts: make([]dataset.Receipt, 0, len(o.keys))}
	d.made.SetLimit(committers)
	err = d.guard(func() error { return merge(o.mem, o.cursors(), max(o.chunkBytes(), 1<<20), d.write) })
	if err == nil {
		err = d.finish()
	}
	if d.w != nil {
		err = errors.Join(err, d.w.Abort(context.WithoutCancel(ctx)))
	}
	if werr := d.made.Wait(); err == nil {
		err = werr
	}
	for _, more := range d.done {
		d.receipts = append(d.receipts, *more)
	}
	return d.receipts, err
}

type drainer struct {
	m        *Manager
	o        *overflow
	ctx      context.Context
	w        dataset.Writer
	key      uint32
	made     errgroup.Group
	done     []*dataset.Receipt
	receipts []dataset.Receipt
}

// guard turns a panic of a writer into an error.
func (d *drainer) guard(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &dataset.PanicError{Op: d.m.cfg.Sink.Name(), Where: "a part of one partition", Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}

// write takes a chunk of merged rows.
func (d *drainer) write(rec arrow.RecordBatch, keys []stretchOf) error {
	at := 0
	for _, k := range keys {
		if d.ctx.Err() != nil {
			return context.Cause(d.ctx)
		}
		if err := d.turn(k.key); err != nil {
			return err
		}
		b := block.New(rec.NewSlice(int64(at), int64(at+k.n)), block.Identity{})
		err := d.w.Write(d.ctx, b)
		b.Release()
		if err != nil {
			return err
		}
		at += k.n
	}
	return nil
}

// turn opens the part of a key, unless it is open. Where the order of parts does not matter, one that reached its size is followed by
// another.
func (d *drainer) turn(key uint32) error {
	m, k := d.m, &d.o.keys[key]
	seq := k.seq
	if d.w != nil && d.key == key {
		if m.cfg.Options.Ordered || d.w.Bytes()+d.w.Buffered() < m.cfg.Options.PartBytes {
			return nil
		}
		seq = m.seq.Add(1) - 1
	}
	if err := d.finish(); err != nil {
		return err
	}
	values, err := m.valuesOf(k.key)
	if err != nil {
		return err
	}
	part := dataset.Part{Seq: seq, Run: m.cfg.Run, Attempt: m.cfg.attempt, Partition: values}
	d.w, err = m.cfg.Sink.NewWriter(d.ctx, &drainRuntime{d.o.mem, &m.cfg}, part, m.cfg.Schema)
	d.key = key
	return err
}

// finish makes the open part durable, on a goroutine of its own.
func (d *drainer) finish() error {
	if d.w == nil {
		return nil
	}
	w, r := d.w, new(dataset.Receipt)
	d.w = nil
	d.done = append(d.done, r)
	d.made.Go(func() error {
		return d.guard(func() (err error) {
			*r, err = w.Commit(d.ctx)
			return err
		})
	})
	return nil
}

// valuesOf turns a key back into the values of the partition columns.
func (m *Manager) valuesOf(key string) (map[string]string, error) {
	out := make(map[string]string, len(m.by))
	rest := []byte(key)
	for _, c := range m.by {
		n, w := binary.Uvarint(rest)
		if w <= 0 || n > uint64(len(rest)-w) {
			return nil, fmt.Errorf("internal error in commit: the key of a partition is cut off: %q", key)
		}
		out[m.cfg.Schema.Field(c).Name] = string(rest[w : w+int(n)])
		rest = rest[w+int(n):]
	}
	return out, nil
}
