package block

import "sync/atomic"

// File is one input as identity sees it: a file, an object, a table, or the output of a barrier. Ordinal is the number under which
// it was first journaled in the chain of manifests of the target, and is never reused.
type File struct {
	Source  uint32 // which source of the plan
	Ordinal uint64
	Path    string // for messages
}

// Range is the half-open interval [First, End) of positions in a file. The unit of a position is the file's own: byte offset for
// lines, row for Parquet, entry for archives.
type Range struct {
	File       *File
	First, End uint64
}

// Token counts the live rows of the ranges that a reader emitted as one block. Rows are live from emission until the last block
// that holds them, or rows derived from them, is released. A token is drained when none is live: every row has reached a sink,
// was filtered, failed or was cut off by a limit.
type Token struct {
	Ranges  []Range
	State   any // belongs to whoever made the token
	live    atomic.Int64
	drained func(*Token)
}

// NewToken makes a token with one hold, which Settle ends. drained is called once, from whichever goroutine releases the last
// block, and must not block.
func NewToken(ranges []Range, drained func(*Token)) *Token {
	t := &Token{Ranges: ranges, drained: drained}
	t.live.Store(1)
	return t
}

// Settle ends the hold of the token's maker, after the block of the token was handed on.
func (t *Token) Settle() { t.discharge(1) }

// Live returns the number of live rows, the maker's hold included.
func (t *Token) Live() int64 { return t.live.Load() }

func (t *Token) discharge(n int64) {
	if left := t.live.Add(-n); left == 0 {
		if t.drained != nil {
			t.drained(t)
		}
	} else if left < 0 {
		panic("block: a token was discharged more often than charged") //nolint // own-bug assertion
	}
}

type tokenCount struct {
	token *Token
	rows  int64
}

// Tokens calls f with each token of the block and the number of its rows in it.
func (b *Block) Tokens(f func(t *Token, rows int64)) {
	for _, t := range b.tokens {
		f(t.token, t.rows)
	}
}
