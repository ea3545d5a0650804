package file

import "github.com/sluice-data/sluice/dataset"

var (
	_ dataset.OrderKeeper = (*Sink)(nil)
	_ dataset.OrderKeeper = (*StreamSink)(nil)
	_ dataset.SpillPlace  = (*Sink)(nil)
)

// SpillDir implements dataset.SpillPlace: the state folder beside the result, where there must be room anyway. Of a result on a store it is
// "", the system's folder.
func (s *Sink) SpillDir() string {
	if _, remote := s.disk.(RemoteDisk); remote {
		return ""
	}
	return s.state
}

// KeepsOrder implements dataset.OrderKeeper: one file keeps the order of the source, a folder does only if the run asks for it.
func (s *Sink) KeepsOrder() bool { return s.single != "" }

// KeepsOrder implements dataset.OrderKeeper.
func (*StreamSink) KeepsOrder() bool { return true }
