package read

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// interner keeps the values of a dictionary-typed column: those of the chunk's
// dictionary page in their order, then those that plain pages add, as happens
// when a writer gives its dictionary up in the middle of a chunk.
type interner struct {
	mem    memory.Allocator
	typ    arrow.DataType // of the values
	values *builder
	found  map[string]int32 // built for the first plain page
	synced bool             // the dictionary page has been taken over
	arr    arrow.Array      // the values as of arrLen
	arrLen int
}

func (t *interner) release() {
	t.values.release()
	if t.arr != nil {
		t.arr.Release()
		t.arr = nil
	}
}

// readIndexes reads n values of the page as indexes.
func (l *leaf) readIndexes(dst []int32, n int) error {
	t := l.intern
	if !t.synced && l.dict.loaded {
		if t.values.n > 0 {
			return errors.New("dictionary page comes after pages that do not use it")
		}
		if err := t.takeOver(&l.dict); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	if l.vals.mode == modeIndex {
		idx := view[uint32](asBytes(dst[:n]))
		if err := l.vals.runs.Uint32(idx); err != nil {
			return fmt.Errorf("dictionary indexes: %w", err)
		}
		for _, x := range idx {
			if int(x) >= l.dict.n {
				return l.dict.errIndex(x)
			}
		}
		return nil
	}
	return l.internPlain(dst, n)
}

func (t *interner) takeOver(d *dictionary) error {
	t.synced = true
	dst, off, err := t.values.reserveBytes(d.n, d.size)
	if err != nil {
		return fmt.Errorf("dictionary of %d bytes: %w", d.size, err)
	}
	copy(dst, d.data.b[:d.size])
	if d.n > 0 {
		copy(off, d.offsets[1:])
	}
	t.values.size = d.size
	t.values.finish(d.n, d.n)
	return nil
}

// internPlain reads plain values and looks each up.
func (l *leaf) internPlain(dst []int32, n int) error {
	t := l.intern
	if t.found == nil {
		t.found = make(map[string]int32, t.values.n)
		for i := range t.values.n {
			t.found[string(t.values.value(i))] = int32(i)
		}
	}
	// The values pass through a builder of their own, which is empty between
	// calls.
	tmp := builder{mem: t.mem, shape: shapeBytes, limit: maxData}
	defer tmp.release()
	keep := l.out
	l.out = tmp
	err := l.byteArrays(n)
	tmp, l.out = l.out, keep
	if err != nil {
		return err
	}
	tmp.finish(n, n)
	for i := range n {
		v := tmp.value(i)
		x, ok := t.found[string(v)]
		if !ok {
			if x, err = t.add(v); err != nil {
				return err
			}
		}
		dst[i] = x
	}
	return nil
}

func (t *interner) add(v []byte) (int32, error) {
	dst, off, err := t.values.reserveBytes(1, len(v))
	if err != nil {
		return 0, fmt.Errorf("dictionary of the column is over %d bytes: read it without its dictionary type", maxData)
	}
	x := int32(t.values.n)
	copy(dst[t.values.size:], v)
	t.values.size += len(v)
	off[0] = int32(t.values.size)
	t.values.finish(1, 1)
	t.found[string(v)] = x
	return x, nil
}

// value returns the bytes of slot i.
func (b *builder) value(i int) []byte {
	o := view[int32](b.off.Bytes())
	return b.data.Bytes()[o[i]:o[i+1]]
}

// array returns the values so far, as a copy: the builder's buffers may move.
// Batches between two additions share it.
func (t *interner) array() arrow.Array {
	if t.arr == nil || t.arrLen != t.values.n {
		if t.arr != nil {
			t.arr.Release()
		}
		d := t.values.snapshot(t.typ)
		t.arr = array.MakeFromData(d)
		d.Release()
		t.arrLen = t.values.n
	}
	return t.arr
}
