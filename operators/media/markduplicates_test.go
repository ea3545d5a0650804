package media

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset/block"
)

// TestMarkDuplicatesFindsGroups runs the main job's steps on the sample photos: every picture but the first of its group is marked
// with an earlier one of its group.
func TestMarkDuplicatesFindsGroups(t *testing.T) {
	rt := newRuntime(t)
	exp, names := expected(t)
	names = slices.DeleteFunc(names, func(n string) bool { return !exp[n].OK })
	hashed := run(t, rt, chain(t, "decode", "phash"), images(t, rt, names...))
	out := run(t, rt, op(t, "mark-duplicates phash 6"), retained(hashed)...)
	seen := map[string]string{}
	marks := column(out, "duplicate_of")
	for i, n := range names {
		want, dup := seen[exp[n].Group]
		if !dup {
			seen[exp[n].Group] = n
			want = array.NullValueStr
		}
		if marks[i] != want {
			t.Errorf("%s is marked %s, want %s", n, marks[i], want)
		}
	}
}

// hashes makes a block of path and phash; every tenth hash is null.
func hashes(rt *testRuntime, first int, hs []uint64) *block.Block {
	paths, values := array.NewStringBuilder(rt.mem), array.NewUint64Builder(rt.mem)
	defer paths.Release()
	defer values.Release()
	for i, h := range hs {
		paths.Append(fmt.Sprint("p", first+i))
		if (first+i)%10 == 9 {
			values.AppendNull()
		} else {
			values.Append(h)
		}
	}
	p, v := paths.NewArray(), values.NewArray()
	defer p.Release()
	defer v.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "path", Type: arrow.BinaryTypes.String}, {Name: "phash", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}}, nil)
	return block.New(block.FromColumns(schema, []arrow.Array{p, v}, len(hs)), block.FromRuns(block.Run{N: uint32(len(hs)), Stride: 1}))
}

func TestMarkDuplicatesEqualsComparingAll(t *testing.T) {
	const n = 3000
	r := rand.New(rand.NewPCG(7, 7))
	all := make([]uint64, n)
	for i := range all {
		if all[i] = r.Uint64(); i > 0 && i%3 == 0 {
			all[i] = all[r.IntN(i)]
			for range r.IntN(10) {
				all[i] ^= 1 << r.IntN(64)
			}
		}
	}
	for _, distance := range []int{0, 6, 20} {
		rt := newRuntime(t)
		var blocks []*block.Block
		for at := 0; at < n; {
			size := min(1+r.IntN(400), n-at)
			blocks = append(blocks, hashes(rt, at, all[at:at+size]))
			at += size
		}
		marks := column(run(t, rt, op(t, fmt.Sprint("mark-duplicates phash ", distance)), blocks...), "duplicate_of")
		for i := range all {
			want := array.NullValueStr
			for j := range i {
				if i%10 != 9 && j%10 != 9 && bits.OnesCount64(all[i]^all[j]) <= distance {
					want = fmt.Sprint("p", j)
					break
				}
			}
			if marks[i] != want {
				t.Fatalf("distance %d: picture %d is marked %s, want %s", distance, i, marks[i], want)
			}
		}
		if rt.peak < n*8 {
			t.Errorf("distance %d: reserved %d bytes for %d hashes", distance, rt.peak, n)
		}
	}
}

func TestMarkDuplicatesSaysWhatItNeeds(t *testing.T) {
	rt := newRuntime(t)
	rt.limit = 1
	_, err := tryRun(t, rt, op(t, "mark-duplicates phash 6"), hashes(rt, 0, []uint64{1, 2}))
	if err == nil || !strings.Contains(err.Error(), "hold the hashes of 0 pictures") {
		t.Errorf("error %v", err)
	}
}

func TestMarkDuplicatesReadsDictionaries(t *testing.T) {
	rt := newRuntime(t)
	b := hashes(rt, 0, []uint64{5, 5, 1 << 60, 4})
	defer b.Release()
	db := array.NewDictionaryBuilder(rt.mem, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	defer db.Release()
	for _, s := range []string{"z", "a", "z", "b"} {
		if err := db.AppendString(s); err != nil {
			t.Fatal(err)
		}
	}
	paths := db.NewArray()
	defer paths.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "path", Type: paths.DataType()}, b.Schema().Field(1)}, nil)
	in := b.Replace(block.FromColumns(schema, []arrow.Array{paths, b.Column(1)}, 4))
	got := column(run(t, rt, op(t, "mark-duplicates phash 1"), in), "duplicate_of")
	if !slices.Equal(got, []string{array.NullValueStr, "z", array.NullValueStr, "z"}) {
		t.Errorf("marks %v", got)
	}
}
