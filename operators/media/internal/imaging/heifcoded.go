package imaging

import "fmt"

// codedSize is what a compressed stream says of its own size. Decoders allocate by it, whatever the file around it says, so it is read first.
type codedSize struct{ w, h int }

func (s codedSize) pixels() int64 { return int64(s.w) * int64(s.h) }

func (s *codedSize) grow(o codedSize) { s.w, s.h = max(s.w, o.w), max(s.h, o.h) }

const hevcSPS = 33 // NAL unit type (H.265 table 7-1)

// hvcCSize reads the parameter sets of a decoder configuration record (ISO/IEC 14496-15, 8.3.3), and the size of the lengths before NAL units.
func hvcCSize(body []byte) (size codedSize, lengths int, err error) {
	c := fields{b: body}
	c.take(21)
	lengths = int(c.uint(1)&3) + 1
	for range c.uint(1) {
		kind := c.uint(1) & 63
		for range c.uint(2) {
			nal := c.take(int(c.uint(2)))
			if kind == hevcSPS && nal != nil {
				s, err := spsSize(nal)
				if err != nil {
					return size, 0, err
				}
				size.grow(s)
			}
			if c.short {
				break
			}
		}
	}
	return size, lengths, c.err("hvcC")
}

// hevcSize looks for parameter sets among the NAL units of an item; they would overrule those of the configuration.
func hevcSize(data []byte, lengths int) (size codedSize, err error) {
	c := fields{b: data}
	for len(c.b) > 0 {
		nal := c.take(int(c.uint(lengths)))
		if c.short {
			return size, fmt.Errorf("%w: a unit of the hevc stream is longer than the stream", ErrCorrupt)
		}
		if len(nal) > 2 && nal[0]>>1&63 == hevcSPS {
			s, err := spsSize(nal)
			if err != nil {
				return size, err
			}
			size.grow(s)
		}
	}
	return size, nil
}

// spsSize reads a sequence parameter set up to the size of pictures (H.265, 7.3.2.2).
func spsSize(nal []byte) (codedSize, error) {
	// The head takes under 200 bytes; bytes that only keep start codes apart are left out.
	plain := make([]byte, 0, 256)
	for i, zeros := 2, 0; i < len(nal) && len(plain) < cap(plain); i++ {
		if zeros >= 2 && nal[i] == 3 {
			zeros = 0
			continue
		}
		if nal[i] == 0 {
			zeros++
		} else {
			zeros = 0
		}
		plain = append(plain, nal[i])
	}
	r := bitReader{b: plain}
	r.skip(4)
	layers := int(r.get(3))
	r.skip(1 + 88 + 8) // nesting; general profile and level
	var profile, level [8]bool
	for i := range layers {
		profile[i], level[i] = r.get(1) == 1, r.get(1) == 1
	}
	if layers > 0 {
		r.skip(2 * (8 - layers))
	}
	for i := range layers {
		if profile[i] {
			r.skip(88)
		}
		if level[i] {
			r.skip(8)
		}
	}
	r.golomb() // its number
	if r.golomb() == 3 {
		r.skip(1)
	}
	s := codedSize{int(r.golomb()), int(r.golomb())}
	if r.short || s.w == 0 || s.h == 0 {
		return s, fmt.Errorf("%w: hevc parameter set of %d bytes is damaged", ErrCorrupt, len(nal))
	}
	return s, nil
}

const av1Sequence = 1 // OBU type (AV1 specification, 6.2.2)

// av1Size looks for sequence headers among the units of an AV1 stream.
func av1Size(data []byte) (size codedSize, err error) {
	for len(data) > 0 {
		head := data[0]
		n := 1 + int(head>>2&1)
		if n > len(data) {
			return size, errAV1Units
		}
		length := uint64(len(data) - n)
		if head>>1&1 == 1 {
			var used int
			if length, used = leb128(data[n:]); used == 0 {
				return size, errAV1Units
			}
			n += used
		}
		if length > uint64(len(data)-n) {
			return size, errAV1Units
		}
		if head>>3&15 == av1Sequence {
			s, err := sequenceSize(data[n : n+int(length)])
			if err != nil {
				return size, err
			}
			size.grow(s)
		}
		data = data[n+int(length):]
	}
	return size, nil
}

var errAV1Units = fmt.Errorf("%w: a unit of the av1 stream is longer than the stream", ErrCorrupt)

// leb128 reads a number of 7 bits a byte; used is 0 if it is no such number.
func leb128(b []byte) (v uint64, used int) {
	for i := range min(len(b), 8) {
		v |= uint64(b[i]&127) << (7 * i)
		if b[i] < 128 {
			return v, i + 1
		}
	}
	return 0, 0
}

// sequenceSize reads a sequence header up to the largest size of frames (AV1 specification, 5.5.1).
func sequenceSize(body []byte) (codedSize, error) {
	r := bitReader{b: body}
	r.skip(3 + 1) // profile, still picture
	if reduced := r.get(1) == 1; reduced {
		r.skip(5)
	} else {
		delay, model := 0, false
		if timing := r.get(1) == 1; timing {
			r.skip(64)
			if r.get(1) == 1 {
				r.golomb()
			}
			if model = r.get(1) == 1; model {
				delay = int(r.get(5)) + 1
				r.skip(32 + 5 + 5)
			}
		}
		display := r.get(1) == 1
		for range r.get(5) + 1 {
			r.skip(12)
			if r.get(5) > 7 {
				r.skip(1)
			}
			if model && r.get(1) == 1 {
				r.skip(2*delay + 1)
			}
			if display && r.get(1) == 1 {
				r.skip(4)
			}
		}
	}
	wn, hn := int(r.get(4))+1, int(r.get(4))+1
	s := codedSize{int(r.get(wn)) + 1, int(r.get(hn)) + 1}
	if r.short {
		return s, fmt.Errorf("%w: av1 sequence header of %d bytes is damaged", ErrCorrupt, len(body))
	}
	return s, nil
}
