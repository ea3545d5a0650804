package codec

import (
	"encoding/binary"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Slots of the tables of Arrow's Message.fbs that hold what a change of layout touches.
const (
	slotHeaderType = 6
	slotHeader     = 8
	slotBodyLength = 10
	slotDictData   = 6 // DictionaryBatch.data
	slotBuffers    = 8 // RecordBatch.buffers

	headerDictionary = 2

	bufferStruct = 16 // offset and length, both int64
)

// place says where a buffer lies in the body that the IPC writer makes and where it lies in ours.
type place struct{ from, to, n int64 }

// relayout rewrites the metadata of a record or dictionary message in place, so that each buffer of the body starts at a multiple of
// 64, and returns the moves and the new length of the body. meta was just made by the IPC writer and is trusted.
func relayout(meta []byte) ([]place, int64) {
	msg := &flatbuffers.Table{Bytes: meta, Pos: flatbuffers.GetUOffsetT(meta)}
	var batch flatbuffers.Table
	o := flatbuffers.UOffsetT(msg.Offset(slotHeader))
	msg.Union(&batch, o)
	if msg.GetByteSlot(slotHeaderType, 0) == headerDictionary {
		data := flatbuffers.UOffsetT(batch.Offset(slotDictData))
		batch.Pos = batch.Indirect(data + batch.Pos)
	}
	var moves []place
	end := int64(0)
	if v := flatbuffers.UOffsetT(batch.Offset(slotBuffers)); v != 0 {
		at := int(batch.Vector(v))
		for range batch.VectorLen(v) {
			p := meta[at : at+bufferStruct]
			m := place{int64(binary.LittleEndian.Uint64(p)), end, int64(binary.LittleEndian.Uint64(p[8:]))}
			binary.LittleEndian.PutUint64(p, uint64(m.to))
			moves = append(moves, m)
			end += int64(pad(int(m.n)))
			at += bufferStruct
		}
	}
	setBodyLength(meta, end)
	return moves, end
}

// setBodyLength writes the length of the body into the metadata of a message that has one.
func setBodyLength(meta []byte, n int64) {
	msg := &flatbuffers.Table{Bytes: meta, Pos: flatbuffers.GetUOffsetT(meta)}
	if b := flatbuffers.UOffsetT(msg.Offset(slotBodyLength)); b != 0 {
		msg.MutateInt64(b+msg.Pos, n)
	}
}

// spreader receives the body as the IPC writer lays it out and places the buffers in dst, which is zeroed.
type spreader struct {
	dst   []byte
	moves []place
	at    int64
}

// Write implements io.Writer.
func (s *spreader) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 && len(s.moves) > 0 {
		m := s.moves[0]
		switch {
		case s.at >= m.from+m.n:
			s.moves = s.moves[1:]
		case s.at < m.from: // padding
			n := min(int64(len(p)), m.from-s.at)
			s.at += n
			p = p[n:]
		default:
			n := copy(s.dst[m.to+s.at-m.from:m.to+m.n], p)
			s.at += int64(n)
			p = p[n:]
		}
	}
	s.at += int64(len(p))
	return total, nil
}
