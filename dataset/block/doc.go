// Package block holds the unit of data that flows through Sluice: the Block, an immutable Arrow record batch with its size in
// bytes and the identity of every row, and the memory that backs it.
//
// Contract. A Block has one owner. Passing it on hands it over; who wants to keep a block it only borrowed calls Retain. The last
// holder calls Release exactly once, and with that the block's rows leave the count of their Token: completion is counted by block
// lifetime, so an operator that filters, holds back, explodes or merges rows needs no bookkeeping of its own. A slice charges
// nothing but pins the buffers of the block it came from.
//
// The package runs nothing and knows no operator. Read block.go first, then identity.go, then pool.go.
package block
