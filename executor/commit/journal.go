package commit

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/sluice-data/sluice/dataset"
)

// past is what the log of an unfinished run holds, for the attempt that goes on with it.
type past struct {
	run         string
	attempt     int // the highest that wrote
	begin       beginRecord
	begun       bool
	last        int          // number of the last segment
	needed      map[int]bool // segments with records that no snapshot repeats
	dropped     []int        // segments that a snapshot stands for
	end         logPoint
	parts       []dataset.Receipt
	ended       bool // a deferred record: every row is in durable parts
	generations int
	fails       deadSummary // of committed generations
	splits      int64
	sources     map[uint32]*pastSource
	records     []splitsRecord // in order
	finish      *finishRecord
}

// splitsRecord is one record of the journal of splits: where it lies and what it names. Ten million splits make some twenty thousand.
type splitsRecord struct {
	recordAt
	bytes          int64
	mixed          bool // it holds splits of several sources
	source         uint32
	splits, ranges int64
	first, last    uint64 // ordinals
}

// pastSource is one source of an unfinished run.
type pastSource struct {
	splits, ranges int64
	known          bool   // first is set
	first, next    uint64 // ordinals
	shift          uint64 // own ordinals are those of identities plus this
	listed         bool
	lastFile       fileView
	lastOrdinal    uint64
	lastEnd        uint64
	digest         *inputDigest
	done           doneSet
	// extents[o-first] is the end of file o where one range from 0 on holds all of it, else 0.
	extents []uint32
}

// loadLog reads the log of a run.
func loadLog(ctx context.Context, store dataset.Storage, run string) (*past, error) {
	p := &past{run: run, sources: map[uint32]*pastSource{}, needed: map[int]bool{}}
	var splits splitsDecoder
	var err error
	if p.dropped, err = droppedSegments(ctx, store, run); err != nil {
		return p, err
	}
	p.last, p.end, err = readSegments(ctx, store, run, p.dropped, func(at recordAt, k kind, payload []byte) error { return p.note(&splits, at, k, payload) })
	if err != nil {
		return p, err
	}
	for _, s := range p.sources {
		s.seal()
	}
	return p, nil
}

func (p *past) source(id uint32) *pastSource {
	s := p.sources[id]
	if s == nil {
		s = &pastSource{digest: newDigest(id)}
		p.sources[id] = s
	}
	return s
}

// note takes one record.
func (p *past) note(d *splitsDecoder, at recordAt, k kind, payload []byte) error {
	if !k.repeats() {
		p.needed[at.segment] = true
	}
	switch k {
	case kindHeader:
		var h segmentHeader
		if err := json.Unmarshal(payload, &h); err != nil {
			return fmt.Errorf("read header: %w", err)
		}
		p.attempt = max(p.attempt, h.Attempt)
	case kindBegin:
		p.begun = true
		if err := json.Unmarshal(payload, &p.begin); err != nil {
			return fmt.Errorf("read begin record: %w", err)
		}
	case kindSplits:
		p.records = append(p.records, splitsRecord{recordAt: at, bytes: int64(len(payload))})
		return d.walk(payload, p.noteSplit)
	case kindListed:
		id, n := binary.Uvarint(payload)
		if n <= 0 {
			return errShort
		}
		s := p.source(uint32(id))
		s.listed, s.digest.Listed = true, true
	case kindShift:
		d := decoder{p: payload}
		id, shift := d.uvarint(), d.uvarint()
		p.source(uint32(id)).shift = shift
		return d.err
	case kindGeneration, kindSnapshot:
		g, err := decodeGeneration(payload)
		if err != nil {
			return err
		}
		if k == kindSnapshot {
			p.noteSnapshot(g)
		} else {
			p.noteGeneration(g)
		}
	case kindFinish:
		p.finish = &finishRecord{}
		if err := json.Unmarshal(payload, p.finish); err != nil {
			return fmt.Errorf("read finish record: %w", err)
		}
	}
	return nil
}

func (p *past) noteSplit(v *splitView) error {
	p.splits++
	s := p.source(v.source)
	s.splits++
	p.records[len(p.records)-1].note(v)
	for i := range v.ranges {
		if err := s.noteRange(&v.ranges[i], i == len(v.ranges)-1); err != nil {
			return err
		}
	}
	return nil
}

func (r *splitsRecord) note(v *splitView) {
	r.mixed = r.mixed || r.splits > 0 && r.source != v.source
	r.source = v.source
	r.splits++
	for i := range v.ranges {
		o := v.ranges[i].ordinal
		if r.ranges == 0 {
			r.first, r.last = o, o
		}
		r.first, r.last = min(r.first, o), max(r.last, o)
		r.ranges++
	}
}

func (s *pastSource) noteRange(r *rangeView, keep bool) error {
	s.ranges++
	fresh := !s.known || r.ordinal != s.lastOrdinal
	if !s.known {
		s.known, s.first = true, r.ordinal
	}
	at := r.ordinal - s.first
	if r.ordinal < s.first || at > uint64(len(s.extents)) {
		return fmt.Errorf("the journal names file %d of a source behind file %d", r.ordinal, s.next)
	}
	if at == uint64(len(s.extents)) {
		s.extents = append(s.extents, 0)
	}
	switch {
	case !fresh:
		s.extents[at] = 0
	case r.start == 0 && r.end < math.MaxUint32:
		s.extents[at] = uint32(r.end)
	}
	if fresh {
		s.digest.addView(r.file)
	}
	s.lastOrdinal, s.lastEnd, s.next = r.ordinal, r.end, max(s.next, r.ordinal+1)
	if keep {
		s.lastFile.copy(r.file)
	}
	return nil
}

func (p *past) noteGeneration(g *generationRecord) {
	p.generations++
	p.parts = append(p.parts, g.Parts...)
	p.ended = p.ended || g.Deferred
	p.fails.add(g)
	for _, n := range g.done.list {
		p.source(n.source).noteDone(n)
	}
}

// noteDone adds a recorded range. All of a file is marked as such, so that it joins with its neighbours; of the file that was
// journaled last it is not known yet whether more of it follows.
func (s *pastSource) noteDone(n span) {
	if n.first == 0 && n.end >= math.MaxInt64 { // of a file whose length is not known before it was read
		s.done.add(doneSpan{ordinal: n.ordinal, files: n.files, end: wholeFile})
		return
	}
	for o := n.ordinal; o < n.ordinal+n.files; o++ {
		d := doneSpan{ordinal: o, files: 1, first: n.first, end: n.end}
		if i := o - s.first; s.known && i < uint64(len(s.extents)) && o != s.lastOrdinal && n.first == 0 && s.extents[i] != 0 && n.end == uint64(s.extents[i]) {
			d.end = wholeFile
		}
		s.done.add(d)
	}
}

// seal ends the set: what could not be told when it was recorded, that a range was all of its file, is known now.
func (s *pastSource) seal() {
	for i := range s.done.list {
		d := &s.done.list[i]
		if at := d.ordinal - s.first; d.files == 1 && d.first == 0 && (d.ordinal != s.lastOrdinal || s.listed) && at < uint64(len(s.extents)) &&
			s.extents[at] != 0 && d.end == uint64(s.extents[at]) {
			d.end = wholeFile
		}
	}
	s.done.seal()
	s.extents = nil
}

// replay calls visit with the journaled splits of one source, in order, apart from the records that skip takes on.
func (p *past) replay(ctx context.Context, store dataset.Storage, source uint32, skip func(r *splitsRecord) bool, visit func(v *splitView) error) error {
	var d splitsDecoder
	var data []byte
	segment := 0
	for i := range p.records {
		r := &p.records[i]
		if !r.mixed && (r.source != source || skip(r)) {
			continue
		}
		if r.segment != segment {
			var err error
			if data, err = store.Read(ctx, segmentName(p.run, r.segment)); err != nil {
				return fmt.Errorf("read log of run %s: %w", p.run, err)
			}
			segment = r.segment
		}
		if int64(len(data)) < r.offset+r.bytes {
			return fmt.Errorf("read log of run %s: segment %d lost its end meanwhile", p.run, r.segment)
		}
		err := d.walk(data[r.offset:r.offset+r.bytes], func(v *splitView) error {
			if v.source != source {
				return nil
			}
			return visit(v)
		})
		if errors.Is(err, errEnoughSplits) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read log of run %s, segment %d: %w", p.run, r.segment, err)
		}
	}
	return nil
}

// errEnoughSplits ends a replay.
var errEnoughSplits = errors.New("enough")
