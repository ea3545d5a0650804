package media

import (
	"context"

	"github.com/sluice-data/sluice/dataset"
)

// keepReserved is what an instance may keep reserved, and hold as scratch memory, between pictures of any size: enough for photos of
// usual size on their way to a thumbnail. More is kept only while pictures go on needing it.
const keepReserved = 8 << 20

// reserveStep is the unit in which reservations grow, so that pictures of about one size need one only.
const reserveStep = 2 << 20

// reservation is budget held for memory that the allocator does not see.
type reservation struct {
	bytes int64
	back  func()
}

// atLeast makes the reservation large enough for n bytes, or small again after a giant, for which it calls trim. It gives back what it
// holds before it waits for more, so that two instances never wait for each other's.
func (r *reservation) atLeast(ctx context.Context, rt dataset.Runtime, n int64, trim func()) error {
	n = (n + reserveStep - 1) / reserveStep * reserveStep
	if n <= r.bytes && (r.bytes <= keepReserved || n > r.bytes/2) {
		return nil
	}
	if n < r.bytes || r.bytes > keepReserved {
		trim() // what is given back must not be held on to
	}
	r.release()
	back, err := rt.Reserve(ctx, n)
	if err != nil {
		return err
	}
	r.bytes, r.back = n, back
	return nil
}

func (r *reservation) release() {
	if r.back != nil {
		r.back()
	}
	*r = reservation{}
}
