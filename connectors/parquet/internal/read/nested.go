package read

import (
	"errors"
	"fmt"
	"io"
)

// readNested reads n rows with their levels. The levels of the batch add up in
// defs and reps until the field is assembled.
func (l *leaf) readNested(n int) error {
	started := 0
	for {
		if l.levels == 0 {
			err := l.advance()
			if err == io.EOF {
				if started == n {
					return nil
				}
				return fmt.Errorf("column chunk ends before its rows do: %w", io.ErrUnexpectedEOF)
			}
			if err != nil {
				return err
			}
			if l.levels == 0 {
				continue
			}
		}
		// A row may go on in the next page, so the end of a page ends no row.
		from, to := l.at, len(l.pageReps)
		i := from
		for ; i < to; i++ {
			if l.pageReps[i] == 0 {
				if started == n {
					break
				}
				started++
			}
		}
		if err := l.slotsOf(from, i); err != nil {
			return err
		}
		l.at = i
		l.levels = to - i
		if i < to {
			return nil
		}
	}
}

// slotsOf reads the values of levels [from, to) of the page.
func (l *leaf) slotsOf(from, to int) error {
	if from == to {
		return nil
	}
	defs := l.pageDefs[from:to]
	have := len(l.defs)
	l.defs = l.batchDefs.grow(have+to-from, have)
	l.reps = l.batchReps.grow(have+to-from, have)
	copy(l.defs[have:], defs)
	copy(l.reps[have:], l.pageReps[from:to])
	full, slot := byte(l.col.MaxDef), byte(l.col.SlotDef)
	slots, values := 0, 0
	for _, d := range defs {
		if d >= slot {
			slots++
		}
		if d == full {
			values++
		}
	}
	if slots == values {
		l.out.markValid(slots)
	} else {
		l.markSlots(defs, slots)
	}
	err := l.put(slots, values)
	if errors.Is(err, errFull) {
		return fmt.Errorf("values of a nested column take over %d bytes: read fewer rows at a time", l.out.limit)
	}
	return err
}

// markSlots writes the validity of the slots among defs.
func (l *leaf) markSlots(defs []byte, slots int) {
	bits := l.out.bitmap(slots)
	full, slot := byte(l.col.MaxDef), byte(l.col.SlotDef)
	at := l.out.n
	for _, d := range defs {
		if d < slot {
			continue
		}
		mask := byte(1) << (at & 7)
		if d == full {
			bits[at>>3] |= mask
		} else {
			bits[at>>3] &^= mask
		}
		at++
	}
}

// dropNested passes over the rows before the first wanted one.
func (l *leaf) dropNested() error {
	for l.skip > 0 {
		// Whole pages of V2 go by unread inside advance; what is left is read
		// and thrown away in pieces.
		if l.levels == 0 {
			if err := l.advance(); err != nil {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
			continue
		}
		n := min(l.skip, indexChunk)
		l.skip -= n
		keep := l.skip
		l.skip = 0
		err := l.readNested(n)
		l.skip = keep
		if err != nil {
			return err
		}
		l.clearBatch()
	}
	return nil
}

func (l *leaf) clearBatch() {
	l.out.release()
	l.defs, l.reps = l.defs[:0], l.reps[:0]
}
