package commit

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A record is stored as
//
//	length   uint32, little endian, of kind and payload
//	checksum uint32, crc32c of kind and payload, begun with the checksum of the record before
//	kind     one byte
//	payload
//
// The chained checksum makes a record valid only behind the records it was written behind, so blocks of an older file that show up
// after a crash are not taken for records.
type kind byte

const (
	kindHeader     kind = 1 // JSON segmentHeader; first of each segment
	kindSplits     kind = 2 // splits, as splitsEncoder writes them
	kindListed     kind = 3 // uvarint: the source whose listing is complete
	kindGeneration kind = 4 // parts and the ranges they hold: the commit point
	kindFinish     kind = 5 // JSON finishRecord: the run is complete and is to be published
	kindBegin      kind = 6 // JSON beginRecord: what the run is to do
	kindShift      kind = 7 // uvarints: a source, and what its ordinals here exceed those of its identities by
	kindAttempt    kind = 8 // JSON attemptRecord: a process goes on with the run
	kindSnapshot   kind = 9 // all generations before it as one, in place of theirs (compact.go)
)

const (
	frameBytes = 8
	// maxRecordBytes bounds what a reader allocates for one record. A generation is closed long before it gets there.
	maxRecordBytes = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends the stored form of a record to dst and returns the new chain value.
func appendRecord(dst []byte, chain uint32, k kind, payload []byte) ([]byte, uint32, error) {
	n := len(payload) + 1
	if n > maxRecordBytes {
		return dst, chain, fmt.Errorf("write run log: a record of %d bytes exceeds the limit of %d", n, maxRecordBytes)
	}
	at := len(dst)
	dst = append(dst, make([]byte, frameBytes)...)
	dst = append(dst, byte(k))
	dst = append(dst, payload...)
	chain = crc32.Update(chain, castagnoli, dst[at+frameBytes:])
	binary.LittleEndian.PutUint32(dst[at:], uint32(n))
	binary.LittleEndian.PutUint32(dst[at+4:], chain)
	return dst, chain, nil
}

// nextRecord reads the record at the start of p. ok is false where p does not begin with a whole, valid record: the end of the log,
// or its torn tail.
func nextRecord(p []byte, chain uint32) (k kind, payload []byte, size int, next uint32, ok bool) {
	if len(p) <= frameBytes {
		return 0, nil, 0, chain, false
	}
	n := int(binary.LittleEndian.Uint32(p))
	if n < 1 || n > maxRecordBytes || n > len(p)-frameBytes {
		return 0, nil, 0, chain, false
	}
	body := p[frameBytes : frameBytes+n]
	next = crc32.Update(chain, castagnoli, body)
	if next != binary.LittleEndian.Uint32(p[4:]) {
		return 0, nil, 0, chain, false
	}
	return kind(body[0]), body[1:], frameBytes + n, next, true
}
