package codec

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 10_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	inputs := map[string][]byte{
		"empty": {}, "one": {7}, "short": []byte("abcdefghij"), "noise": noise,
		"zeros": make([]byte, 100_000), "text": bytes.Repeat([]byte("the quick brown fox "), 500),
	}
	for name, codec := range Names {
		for in, src := range inputs {
			t.Run(name+"/"+in, func(t *testing.T) {
				enc, err := Append(codec, []byte("head"), src)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.HasPrefix(enc, []byte("head")) {
					t.Fatal("Append lost what was there")
				}
				if err := Check(codec, len(enc)-4, len(src)); err != nil {
					t.Fatal(err)
				}
				dst := make([]byte, len(src))
				if err := Decode(codec, dst, enc[4:]); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(dst, src) {
					t.Fatal("bytes differ")
				}
				if len(src) > 0 {
					if Decode(codec, dst[:len(src)-1], enc[4:]) == nil && codec != format.Uncompressed {
						t.Fatal("a page longer than its header states was accepted")
					}
				}
			})
		}
	}
}

func TestRefusals(t *testing.T) {
	cases := []struct {
		name string
		err  error
		want string
	}{
		{"lzo", Supported(format.LZO), "LZO is not supported"},
		{"unknown", Supported(77), "codec 77 is unknown"},
		{"bomb", Check(format.Snappy, 100, 1<<20), "expands at most 32 times"},
		{"huge", Check(format.Zstd, 100, 1<<31-1), "over the limit"},
		{"garbage", Decode(format.Gzip, make([]byte, 10), []byte("nonsense here")), "decompress GZIP"},
	}
	for _, c := range cases {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, c.err, c.want)
		}
	}
}
