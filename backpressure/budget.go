package backpressure

// MinBlockBytes is the least size of a block that a stage must be able to hold twice.
const MinBlockBytes = 256 << 10

// Budget divides a node's bytes: a quarter is the overdraft, half of the rest is split evenly as reservations of the stages, so that the
// last stage can always drain, and the other half is shared. Bytes that workers hold for life (OffHeap) are set aside before. An ordered
// stage keeps a part of its reservation, the permit, for its oldest task.
//
// The zero value is not usable; NewBudget makes one. It is plain data: copying it copies the state of a run's memory.
type Budget struct {
	Total     int64
	Overdraft int64
	Shared    int64
	Accounts  []Account

	over int64 // sum of what accounts hold beyond their reservations
	held int64 // sum of everything granted
}

// Account is one stage's part.
type Account struct {
	Reserved   int64 // may be held whatever others do
	Permit     int64 // besides, only for the oldest task of an ordered stage
	Held       int64 // granted and not returned, without PermitUsed
	PermitUsed int64
}

// NewBudget divides total among len(fixed) accounts; fixed[i] is added to the reservation of account i before the division, and permits[i] is
// the permit wanted, which gets at most half of the reservation.
func NewBudget(total int64, fixed, permits []int64) Budget {
	rest := total
	for _, f := range fixed {
		rest -= f
	}
	rest = max(rest, 0)
	b := Budget{Total: total, Overdraft: rest / 4, Accounts: make([]Account, len(fixed))}
	part := (rest - b.Overdraft) / 2 / int64(max(1, len(fixed)))
	b.Shared = rest - b.Overdraft - part*int64(len(fixed))
	for i := range b.Accounts {
		p := min(permits[i], part/2)
		b.Accounts[i] = Account{Reserved: part - p + fixed[i], Permit: p}
	}
	return b
}

// Held is the sum of everything granted; it never exceeds Total.
func (b *Budget) Held() int64 { return b.held }

// Over is the sum of what accounts hold beyond their reservations.
func (b *Budget) Over() int64 { return b.over }

// HeldBy is what account i holds.
func (b *Budget) HeldBy(i int) int64 { return b.Accounts[i].Held + b.Accounts[i].PermitUsed }

// OverdraftFree says whether all that is held beyond reservations fits the shared part.
func (b *Budget) OverdraftFree() bool { return b.over <= b.Shared }

// Own is what account i can get without touching the shared part; oldest adds what is left of the permit.
func (b *Budget) Own(i int, oldest bool) int64 {
	a := &b.Accounts[i]
	n := max(0, a.Reserved-a.Held)
	if oldest {
		n += a.Permit - a.PermitUsed
	}
	return n
}

// Room is what account i can get without the overdraft.
func (b *Budget) Room(i int, oldest bool) int64 { return b.Own(i, oldest) + max(0, b.Shared-b.over) }

// Take grants n bytes to account i if its room allows.
func (b *Budget) Take(i int, n int64, oldest bool) bool {
	if n > b.Room(i, oldest) {
		return false
	}
	b.take(i, n, max(0, b.Shared-b.over))
	return true
}

// TakeOwn grants n bytes to account i if they can be had without the shared part.
func (b *Budget) TakeOwn(i int, n int64, oldest bool) bool {
	if n > b.Own(i, oldest) {
		return false
	}
	b.take(i, n, 0)
	return true
}

// TakeOverdraft is Take that may use the overdraft besides.
func (b *Budget) TakeOverdraft(i int, n int64, oldest bool) bool {
	if n > b.OverdraftRoom(i, oldest) {
		return false
	}
	b.take(i, n, max(0, b.Shared+b.Overdraft-b.over))
	return true
}

// OverdraftRoom is what account i could get with the whole of what is left of the overdraft.
func (b *Budget) OverdraftRoom(i int, oldest bool) int64 {
	return b.Own(i, oldest) + max(0, b.Shared+b.Overdraft-b.over)
}

// take grants n bytes: from the reservation, then from the common bytes, then from the permit.
func (b *Budget) take(i int, n, common int64) {
	a := &b.Accounts[i]
	own := max(0, a.Reserved-a.Held)
	ordinary := min(n, own+common)
	b.over += max(0, ordinary-own)
	a.Held += ordinary
	a.PermitUsed += n - ordinary
	b.held += n
}

// Give returns n bytes of account i; the permit is filled up first. More than is held is ignored; the result is what was returned.
func (b *Budget) Give(i int, n int64) int64 {
	a := &b.Accounts[i]
	n = min(max(n, 0), a.Held+a.PermitUsed)
	b.held -= n
	p := min(n, a.PermitUsed)
	a.PermitUsed -= p
	before := max(0, a.Held-a.Reserved)
	a.Held -= n - p
	b.over -= before - max(0, a.Held-a.Reserved)
	return n
}

// Enough is the total with which account i could have been granted n bytes: a quarter must hold a single request, and five
// eighths of every byte added can be had beyond the reservations.
func (b *Budget) Enough(i int, n int64, oldest bool) int64 {
	missing := max(0, n-b.OverdraftRoom(i, oldest))
	return max(4*n, b.Total+(missing*8+4)/5)
}

// Required is the least total for n stages that hold fixed bytes besides: two minimum blocks a stage.
func Required(stages int, fixed int64) int64 { return int64(stages)*2*MinBlockBytes + fixed }
