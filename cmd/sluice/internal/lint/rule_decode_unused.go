package lint

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/block"
)

func init() {
	register(Rule{"decode-unused", "pictures are decoded, and then left out", decodeUnused})
}

// decodeUnused finds steps that make pixels which are left out before anything reads them.
func decodeUnused(_ context.Context, j *Job) (out []Finding, err error) {
	for i := range j.Steps {
		s := &j.Steps[i]
		fresh := s.fresh()
		if !isPixels(s, fresh) {
			continue
		}
		for _, name := range fresh {
			f, _ := s.Out.FieldsByName(name)
			if !arrow.TypeEqual(f[0].Type, block.Pixels) || s.used(name) || readByNext(j, i, name) {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(fresh), func(c string) bool { return c == name || !s.used(c) })
			remedy := "leave it out; a damaged picture then no longer fails its row"
			if len(rest) > 0 {
				remedy = "if damaged pictures need not be found, take width and height from where they are known already"
			}
			out = append(out, Finding{Pos: s.Pos, Remedy: remedy,
				Message: fmt.Sprintf("%s decodes every picture, and the pixels in %q are left out before anything reads them", firstWord(s.Text), name)})
		}
	}
	return out, nil
}

func isPixels(s *Step, fresh []string) bool {
	return slices.ContainsFunc(fresh, func(name string) bool {
		f, _ := s.Out.FieldsByName(name)
		return arrow.TypeEqual(f[0].Type, block.Pixels)
	})
}

// readByNext says whether a later step works on the column although nobody wants what it makes of it; that step is then what is unused.
func readByNext(j *Job, i int, name string) bool {
	for k := i + 1; k < len(j.Steps); k++ {
		if expensive(j.Steps[k].Node.Spec) && j.Steps[k].In.HasField(name) {
			return true
		}
		if !j.Steps[k].Out.HasField(name) {
			return false
		}
	}
	return false
}
