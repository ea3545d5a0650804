package commit

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

func listing(ins ...Input) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for _, in := range ins {
			if !yield(in, nil) {
				return
			}
		}
	}
}

func in(source uint32, path string, stamp int64) Input {
	return Input{source, dataset.FileRef{Path: path, Size: 1, ModTime: time.Unix(stamp, 0)}}
}

func TestSameInputs(t *testing.T) {
	sums := func(listed bool, ins ...Input) []SourceInputs {
		ds := map[uint32]*inputDigest{}
		for _, i := range ins {
			if ds[i.Source] == nil {
				ds[i.Source] = newDigest(i.Source)
			}
			ds[i.Source].add(i.File)
		}
		var out []SourceInputs
		for _, d := range ds {
			d.Listed = listed
			out = append(out, d.sum())
		}
		return out
	}
	a, b, c := in(0, "a", 1), in(0, "b", 1), in(1, "c", 1)
	for _, tc := range []struct {
		name string
		was  []SourceInputs
		now  []Input
		want bool
	}{
		{"the same", sums(true, a, b, c), []Input{a, b, c}, true},
		{"none", nil, nil, true},
		{"new file", sums(true, a), []Input{a, b}, false},
		{"new source", sums(true, a), []Input{a, c}, false},
		{"gone", sums(true, a, b), []Input{a}, false},
		{"source gone", sums(true, a, c), []Input{a}, false},
		{"changed", sums(true, a), []Input{in(0, "a", 2)}, false},
		{"renamed", sums(true, a), []Input{in(0, "b", 1)}, false},
		{"other order", sums(true, a, b), []Input{b, a}, false},
		{"beyond a limit", sums(false, a), []Input{a, b}, true},
		{"before a limit", sums(false, b), []Input{a, b}, false},
		{"unpinned", sums(true, Input{0, dataset.FileRef{Path: "-"}}), []Input{{0, dataset.FileRef{Path: "-"}}}, false},
	} {
		got, err := sameInputs(tc.was, listing(tc.now...))
		if err != nil || got != tc.want {
			t.Errorf("%s: %v, %v; want %v", tc.name, got, err, tc.want)
		}
	}
	fail := errors.New("unreadable folder")
	_, err := sameInputs(nil, func(yield func(Input, error) bool) { yield(Input{}, fail) })
	if !errors.Is(err, fail) {
		t.Errorf("a listing that fails: %v", err)
	}
}

// splitSource lists splits that share files, as big files are cut.
type splitSource struct {
	planSource
	splits []dataset.Split
	err    error
}

func (s splitSource) Splits(context.Context, dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		for _, x := range s.splits {
			if !yield(x, nil) {
				return
			}
		}
		if s.err != nil {
			yield(dataset.Split{}, s.err)
		}
	}
}

func TestListInputs(t *testing.T) {
	split := func(ins ...Input) (s dataset.Split) {
		for _, i := range ins {
			s.Ranges = append(s.Ranges, dataset.SplitRange{File: i.File})
		}
		return s
	}
	a, b, c := in(0, "a", 1), in(0, "b", 1), in(4, "c", 1)
	first := splitSource{splits: []dataset.Split{split(a), split(a), split(a, b)}}
	var got []Input
	for i, err := range ListNumbered(t.Context(), []NumberedSource{{0, first}, {4, splitSource{splits: []dataset.Split{split(c)}}}}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, i)
	}
	if !slices.Equal(got, []Input{a, b, c}) {
		t.Errorf("listed %v", got)
	}
	fail := errors.New("unreadable folder")
	var last error
	for _, err := range ListInputs(t.Context(), []dataset.Source{splitSource{err: fail}, first}) {
		last = err
	}
	if !errors.Is(last, fail) {
		t.Errorf("a listing that fails ends with %v", last)
	}
}
