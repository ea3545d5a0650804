package backpressure

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBudgetDivides(t *testing.T) {
	b := NewBudget(1000, []int64{0, 200}, []int64{50, 0})
	if b.Overdraft != 200 {
		t.Errorf("overdraft %d, want a quarter of what is not fixed", b.Overdraft)
	}
	if a := b.Accounts[0]; a.Reserved != 100 || a.Permit != 50 {
		t.Errorf("account 0 is %+v, want 100 reserved and a permit of 50", a)
	}
	if a := b.Accounts[1]; a.Reserved != 350 || a.Permit != 0 {
		t.Errorf("account 1 is %+v, want 350 reserved", a)
	}
	sum := b.Overdraft + b.Shared
	for _, a := range b.Accounts {
		sum += a.Reserved + a.Permit
	}
	if sum != b.Total {
		t.Errorf("parts add up to %d of %d", sum, b.Total)
	}
}

func TestBudgetTakesInOrder(t *testing.T) {
	b := NewBudget(1600, []int64{0, 0}, []int64{100, 0})
	// 400 overdraft, 600 shared, 300 each: 200 and a permit of 100 for account 0.
	if !b.Take(0, 200, false) || b.Over() != 0 {
		t.Fatal("the reservation goes first")
	}
	if !b.Take(0, 600, false) || b.Over() != 600 {
		t.Fatal("then what is shared")
	}
	if b.Take(0, 1, false) || !b.Take(0, 100, true) || b.Accounts[0].PermitUsed != 100 {
		t.Fatal("then the permit, for the oldest task only")
	}
	if !b.Take(1, 300, false) || b.Take(1, 1, false) {
		t.Fatal("others keep their reservations and get no more")
	}
	if !b.OverdraftFree() || !b.TakeOverdraft(1, 400, false) || b.OverdraftFree() || b.TakeOverdraft(1, 1, false) {
		t.Fatal("the overdraft is the last")
	}
	if b.Held() != b.Total {
		t.Fatalf("%d of %d are held", b.Held(), b.Total)
	}
	if b.Give(0, 150); b.Accounts[0].PermitUsed != 0 || b.Over() != 950 {
		t.Fatalf("given back: %+v, over %d; the permit comes first", b.Accounts[0], b.Over())
	}
	if got := b.Give(1, 10_000); got != 700 || b.Over() != 550 || !b.OverdraftFree() {
		t.Fatalf("gave %d, over %d", got, b.Over())
	}
}

func TestEnough(t *testing.T) {
	b := NewBudget(1600, []int64{0, 0}, []int64{0, 0})
	for _, n := range []int64{1, 399, 1500, 5000} {
		big := b.Enough(0, n, false)
		c := NewBudget(big, []int64{0, 0}, []int64{0, 0})
		if n > big/4 || !c.TakeOverdraft(0, n, false) {
			t.Errorf("%d bytes are not to be had with %d", n, big)
		}
	}
}

// TestBudgetProperties takes and gives at random: nothing beyond the total is granted, a reservation is always there, and the sum of what is
// held beyond reservations is kept right.
func TestBudgetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "accounts")
		fixed, permits := make([]int64, n), make([]int64, n)
		for i := range n {
			fixed[i] = rapid.Int64Range(0, 50).Draw(t, "fixed")
			permits[i] = rapid.Int64Range(0, 100).Draw(t, "permit")
		}
		b := NewBudget(rapid.Int64Range(1, 5000).Draw(t, "total")+Required(0, 300), fixed, permits)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, n-1).Draw(t, "account")
			v := rapid.Int64Range(0, 1000).Draw(t, "bytes")
			oldest := rapid.Bool().Draw(t, "oldest")
			own := b.Own(i, oldest)
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				room := b.Room(i, oldest)
				if ok := b.Take(i, v, oldest); ok != (v <= room) || (!ok && v <= own) {
					t.Fatalf("take %d with room %d, own %d: %v", v, room, own, ok)
				}
			case 1:
				b.TakeOverdraft(i, v, oldest)
			case 2:
				b.Give(i, v)
			}
			checkBudget(t, &b)
		}
	})
}

func checkBudget(t *rapid.T, b *Budget) {
	var held, over int64
	for i := range b.Accounts {
		a := b.Accounts[i]
		held += a.Held + a.PermitUsed
		over += max(0, a.Held-a.Reserved)
		if a.PermitUsed < 0 || a.PermitUsed > a.Permit || a.Held < 0 {
			t.Fatalf("account %d is %+v", i, a)
		}
	}
	if held != b.Held() || over != b.Over() || held > b.Total || over > b.Shared+b.Overdraft {
		t.Fatalf("held %d (counted %d) of %d, over %d (counted %d)", held, b.Held(), b.Total, over, b.Over())
	}
}
