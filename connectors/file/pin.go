package file

import (
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
)

// Pin keeps what the first successful look at the data gave: a schema. The forms of a source that came from one another (projected, limited) share one.
type Pin[T any] struct {
	mu struct {
		sync.Mutex
		done bool
		v    T
	}
}

// Get gives what is kept, looking the first time; a look that fails is made again by the next call. Looks never overlap.
func (p *Pin[T]) Get(look func() (T, error)) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mu.done {
		v, err := look()
		if err != nil {
			var none T
			return none, err
		}
		p.mu.v, p.mu.done = v, true
	}
	return p.mu.v, nil
}

// Projected is a schema with the named columns only, in the order of the schema; nil names all.
func Projected(full *arrow.Schema, columns []string) *arrow.Schema {
	if columns == nil {
		return full
	}
	fields := []arrow.Field{}
	for _, f := range full.Fields() {
		if slices.Contains(columns, f.Name) {
			fields = append(fields, f)
		}
	}
	return arrow.NewSchema(fields, nil)
}
