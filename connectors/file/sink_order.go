package file

import "github.com/sluice-data/sluice/dataset"

var (
	_ dataset.OrderKeeper = (*Sink)(nil)
	_ dataset.OrderKeeper = (*StreamSink)(nil)
)

// KeepsOrder implements dataset.OrderKeeper: one file keeps the order of the source, a folder does only if the run asks for it.
func (s *Sink) KeepsOrder() bool { return s.single != "" }

// KeepsOrder implements dataset.OrderKeeper.
func (*StreamSink) KeepsOrder() bool { return true }
