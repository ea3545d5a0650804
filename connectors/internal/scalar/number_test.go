package scalar

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// scanAll scans text with what a buffer needs behind it.
func scanAll(text string) (n Number, plain []byte, whole bool) {
	buf := append([]byte(text), make([]byte, Pad)...)
	n, end := Scan(buf, 0)
	return n, buf[:len(text)], end == len(text) && n.Valid()
}

// checkNumber compares what a text means with strconv.
func checkNumber(t *testing.T, text string) {
	t.Helper()
	n, plain, ok := scanAll(text)
	want, err := strconv.ParseFloat(text, 64)
	if !ok {
		return
	}
	got, fits := n.Float64(plain)
	if fits != (err == nil) || fits && math.Float64bits(got) != math.Float64bits(want) {
		t.Fatalf("%q is %v (%v), want %v (%v)", text, got, fits, want, err)
	}
	if short, end := ShortFloat(append(plain, make([]byte, Pad)...), 0); end == len(text) && math.Float64bits(short) != math.Float64bits(want) {
		t.Fatalf("%q is %v by ShortFloat, want %v", text, short, want)
	}
	want32, err := strconv.ParseFloat(text, 32)
	got32, fits := n.Float32(plain)
	if fits != (err == nil) || fits && math.Float32bits(got32) != math.Float32bits(float32(want32)) {
		t.Fatalf("%q is float32 %v (%v), want %v (%v)", text, got32, fits, want32, err)
	}
	if n.Real {
		return
	}
	wantInt, err := strconv.ParseInt(text, 10, 64)
	if gotInt, fits := n.Int64(plain); fits != (err == nil) || fits && gotInt != wantInt {
		t.Fatalf("%q is int64 %d (%v), want %d (%v)", text, gotInt, fits, wantInt, err)
	}
	if short, end := ShortInt(append(plain, make([]byte, Pad)...), 0); end > 0 && (err != nil || short != wantInt) {
		t.Fatalf("%q is %d by ShortInt, want %d (%v)", text, short, wantInt, err)
	}
}

// TestNumbers compares numbers of every length and exponent with strconv.
func TestNumbers(t *testing.T) {
	for _, text := range []string{"0", "-0", "1", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615",
		"00012345678901234567890", "0.1", "1e23", "8.5e22", "9007199254740993", "2.2250738585072011e-308", "1e400", "-1e-400", "1.", ".5", "+1",
		"5e-324", "1.7976931348623157e308", "0.000000000000000000000000001", "0.3269020709987017", "123456789012345678901234567890.5e-20"} {
		if _, _, ok := scanAll(text); !ok {
			t.Fatalf("%q is not read", text)
		}
		checkNumber(t, text)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40_000 {
		f := math.Float64frombits(rng.Uint64())
		checkNumber(t, strconv.FormatFloat(f, 'e', rng.IntN(20)-1, 64))
		checkNumber(t, strconv.FormatFloat(rng.NormFloat64()*math.Pow(10, float64(rng.IntN(30)-10)), 'f', rng.IntN(18)-1, 64))
		checkNumber(t, fmt.Sprintf("%de%d", rng.Uint64()>>rng.IntN(64), rng.IntN(91)-45))
		mid := math.Nextafter(math.Abs(rng.NormFloat64()), 9) // just where rounding turns
		checkNumber(t, strconv.FormatFloat(mid, 'f', 16, 64))
	}
}

// TestNotNumbers: what is no number is not read as one.
func TestNotNumbers(t *testing.T) {
	for _, text := range []string{"", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "1 ", "1x", "--1", "1.2.3", "0x1", "1_0", "inf"} {
		if _, _, ok := scanAll(text); ok {
			t.Errorf("%q is read as a number", text)
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "-1.5e-7", "007", "+.5", "1e400", "12345678901234567890123"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 2000 {
			checkNumber(t, text)
		}
	})
}

// TestShortTime: what it reads is what Time reads, and what it does not read plainly it leaves.
func TestShortTime(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
	}{
		{"2023-11-14 22:13:20", 19}, {"2023-11-14T22:13:20Z", 20}, {"2023-11-14 22:13:20.5", 21}, {"2023-11-14 22:13:20.123456", 26}, {"0000-02-29 00:00:00.000001Z", 27},
		{"1969-12-31 23:59:59.999999", 26}, {"9999-12-31 23:59:59", 19}, {"2023-11-14 22:13:20+02:00", 19}, {"2023-11-14 22:13:20 ", 19},
		{"2023-11-14 22:13:20.1234567", 0}, {"2023-11-14 22:13:20.", 0}, {"2023-11-14 22:13", 0}, {"2023-11-14", 0}, {"2023-02-29 00:00:00", 0}, {"2023-11-14 24:00:00", 0},
		{"2023-11-14 22:60:00", 0}, {"2023-11-14 22:13:60", 0}, {"2023-11-14-22:13:20", 0}, {"", 0}, {"x", 0}, {"2023-1-14 22:13:20", 0},
	} {
		b := append([]byte("ab"+c.text), make([]byte, shortTime)...)
		micros, end := ShortTime(b, 2)
		if end-2 != c.n {
			t.Errorf("%q: %d bytes, want %d", c.text, end-2, c.n)
			continue
		}
		if c.n == 0 {
			continue
		}
		sec, nano, ok := Time([]byte(c.text[:c.n]))
		if want := sec*1e6 + nano/1000; !ok || micros != want {
			t.Errorf("%q: %d, want %d", c.text, micros, want)
		}
		for n := range len(c.text) { // near the end of the bytes
			if _, end := ShortTime([]byte(c.text), n); end != n {
				t.Errorf("%q at %d: read to %d", c.text, n, end)
			}
		}
	}
}
