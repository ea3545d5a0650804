package infer

import (
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/infer/internal/cache"
	"github.com/sluice-data/sluice/operators/infer/internal/post"
	"github.com/sluice-data/sluice/operators/infer/internal/prep"
	"github.com/sluice-data/sluice/operators/media"
)

// read makes columns of the answers to the questions, in their order. A row whose answer cannot be read has an error; a response of another shape
// than asked for is the model's error.
func (w *work) read(resp *gpu.Response, set []prep.Loader, asked []*question) error {
	views := make([][][]post.View, len(w.bound.reads)) // output, row, tensor
	for k, names := range w.bound.reads {
		views[k] = make([][]post.View, len(asked))
		for _, name := range names {
			t := find(resp, name)
			if t == nil {
				return missing(resp, name)
			}
			rows, err := post.Rows(t, w.about.MaxBatch > 0, len(asked))
			if err != nil {
				return err
			}
			for i := range rows {
				views[k][i] = append(views[k][i], rows[i])
			}
		}
	}
	pics := pictures(set, len(asked))
	good := make([]int, len(asked))
	for i := range good {
		good[i] = i
	}
	for {
		bad, err := w.build(views, pics, asked, good)
		if err == nil {
			return nil
		}
		w.answers = append(w.answers, answer{q: asked[good[bad]], err: &rowError{model: w.spec.address.model, class: "answer", err: err}})
		good = slices.Delete(good, bad, bad+1)
	}
}

// pictures are those that the inputs of the rows were made of.
func pictures(set []prep.Loader, n int) []media.Geometry {
	out := make([]media.Geometry, n)
	for _, l := range set {
		if p, ok := l.(interface{ Picture(slot int) media.Geometry }); ok {
			for i := range out {
				out[i] = p.Picture(i)
			}
			break
		}
	}
	return out
}

func find(resp *gpu.Response, name string) *gpu.Tensor {
	for i := range resp.Outputs {
		if t := &resp.Outputs[i]; t.Name == name || name == "" && len(resp.Outputs) == 1 {
			return t
		}
	}
	return nil
}

// build makes the result of the good rows, or says which of them cannot be read.
func (w *work) build(views [][][]post.View, pics []media.Geometry, asked []*question, good []int) (bad int, err error) {
	if len(good) == 0 {
		return 0, nil
	}
	mem := w.rt.Allocator()
	cols := make([]arrow.Array, 0, len(views))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for k, b := range w.bound.outputs {
		col := b.Builder(mem, len(good))
		for at, i := range good {
			if err := col.Append(views[k][i], pics[i]); err != nil {
				col.Release()
				return at, err
			}
		}
		cols = append(cols, col.NewArray())
		col.Release()
	}
	res := newResult(block.FromColumns(w.resultSchema(), cols, len(good)))
	w.made = append(w.made, res)
	w.born.add(res)
	for at, i := range good {
		w.answers = append(w.answers, answer{q: asked[i], res: res, row: at})
	}
	return 0, nil
}

// nursery holds results that are not delivered yet, so that they are freed if they never are. It is safe for concurrent use.
type nursery struct {
	mu  sync.Mutex
	all map[*result]bool
}

func (n *nursery) add(r *result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[*result]bool{}
	}
	n.all[r] = true
}

// delivered takes results out; those that no row uses are freed.
func (n *nursery) delivered(rs []*result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range rs {
		delete(n.all, r)
		if r.users == 0 {
			r.rec.Release()
		}
	}
}

// close frees what was not delivered.
func (n *nursery) close() {
	for r := range n.all {
		r.rec.Release()
	}
	n.all = nil
}

// newResult takes rec over.
func newResult(rec arrow.RecordBatch) *result {
	r := &result{rec: rec}
	bytes := int64(0)
	for _, c := range rec.Columns() {
		bytes += int64(c.Data().SizeInBytes())
	}
	r.each = bytes / max(1, rec.NumRows())
	return r
}

// resultSchema is the columns that answers make.
func (o *operator) resultSchema() *arrow.Schema {
	return arrow.NewSchema(o.out.Fields()[o.in.NumFields():], nil)
}

// keep stores the answers for later runs.
func (w *work) keep() error {
	if w.cache == nil {
		return nil
	}
	for _, res := range w.made {
		keys := make([]cache.Key, res.rec.NumRows())
		for _, a := range w.answers {
			if a.res == res {
				keys[a.row] = a.q.key
			}
		}
		if err := w.cache.Put(keys, res.rec); err != nil {
			return err
		}
	}
	return nil
}
