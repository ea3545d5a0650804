package store

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Tier is a place where records can be put to be read again, perhaps by somebody else. A Tier is not safe for concurrent use; what it has
// stored is.
type Tier interface {
	// Put stores a record, which is borrowed. The error wraps ErrFull when there is no room.
	Put(rec arrow.RecordBatch) (Stored, error)
}

// Stored is a record in a Tier.
type Stored interface {
	// Bytes is what it takes where it is.
	Bytes() int64
	// Load gives the record, which the caller releases; what has to be made for it comes from mem. It may be called often, from any
	// goroutine, until Release, and the record may outlive that.
	Load(mem memory.Allocator) (arrow.RecordBatch, error)
	// Release forgets the record. It is called exactly once.
	Release()
}

// Chain is a Tier that puts a record in the first place that has room.
type Chain []Tier

var _ Tier = Chain(nil)

// Put implements Tier.
func (c Chain) Put(rec arrow.RecordBatch) (Stored, error) {
	var full error
	for _, t := range c {
		s, err := t.Put(rec)
		if err == nil || !errors.Is(err, ErrFull) {
			return s, err
		}
		full = errors.Join(full, err)
	}
	if full == nil {
		full = fmt.Errorf("put record: %w: there is no place at all", ErrFull)
	}
	return nil, full
}
