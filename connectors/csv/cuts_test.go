package csv

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
)

// slowQuotes is count with one look at each byte.
func slowQuotes(c *cuts, b []byte, from, to int) (n count) {
	k := 0
	for i := from; i < to; i++ {
		if b[i] != c.d.quote {
			continue
		}
		open := i == 0 || c.fits[b[i-1]]&mayOpen != 0
		closes := i+1 == len(b) || c.fits[b[i+1]]&mayClose != 0
		for start := range 2 {
			if (k+start)%2 == 0 && !open || (k+start)%2 == 1 && !closes {
				n.bad[start] = true
			}
		}
		k++
	}
	n.odd = k%2 == 1
	return n
}

func TestQuotes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	c := newCuts(dialect{delim: ',', quote: '"'}, 0, false)
	for range 100_000 {
		b := make([]byte, rng.IntN(40))
		for i := range b {
			b[i] = "\"\",\n\ra"[rng.IntN(6)]
		}
		from := rng.IntN(len(b) + 1)
		if from > 1 {
			from = 1
		}
		to := len(b) - min(rng.IntN(2), len(b)-from)
		if got, want := c.quotes(b, from, to), slowQuotes(c, b, from, to); got != want {
			t.Fatalf("%q[%d:%d]: got %+v, want %+v", b, from, to, got, want)
		}
	}
}

// TestStateAt compares the states found by counting, over many pieces, with those of the machine.
func TestStateAt(t *testing.T) {
	const size = 5 << 20 // pieces are of 4 MiB
	for name, text := range map[string]string{
		"regular":       "1,\"a\"\"b\",\"x\ny\"\r\n",
		"no quotes":     "1,2,3,4,5\n",
		"late oddities": "1,\"a\"\"b\",\"x\ny\"\r\n",
		"odd":           "1,5\" pipe,\"x\ny\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			data := make([]byte, 0, size+100)
			for len(data) < size {
				if name == "late oddities" && len(data) > 2<<20 && len(data)%7 == 0 {
					data = append(data, "1,5\" pipe,\"x\ny\"\n"...)
				}
				data = append(data, text...)
			}
			p := filepath.Join(t.TempDir(), "in.csv")
			if err := os.WriteFile(p, data, 0o644); err != nil {
				t.Fatal(err)
			}
			info, err := file.Local{}.Stat(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			h, err := file.Local{}.Open(t.Context(), info.FileRef)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			}()
			d := dialect{delim: ',', quote: '"'}
			c := newCuts(d, info.Size, false)
			rng := rand.New(rand.NewPCG(2, 2))
			for range 6 {
				pos := rng.Int64N(info.Size + 1)
				got, err := c.stateAt(t.Context(), h, memory.DefaultAllocator, pos)
				if err != nil {
					t.Fatal(err)
				}
				if want := d.run(atRecord, data[:pos]); got != want {
					t.Fatalf("the state at %d is %d, want %d", pos, got, want)
				}
			}
		})
	}
}

func BenchmarkQuotes(b *testing.B) {
	c := newCuts(dialect{delim: ',', quote: '"'}, 0, false)
	row := []byte("484123,453620,\"category_063\",0.3269020709987017,0.5080835375570047,2023-11-14 22:13:32.389909,true,\"yufgipp bndhvena vhlgoawn nwleozisl\"\n")
	var data []byte
	for len(data) < 256<<10 {
		data = append(data, row...)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if c.quotes(data, 0, len(data)).odd {
			b.Fatal("odd")
		}
	}
}
