package imaging

import "testing"

// farVariants are pictures of a group that a hash does not recognise at the usual distance, and why.
var farVariants = map[HashMethod]map[string]string{
	HashDCT: {"sub/cat-alpha.png": "a white corner changes every frequency"},
}

func TestHashFindsVariants(t *testing.T) {
	const near, apart = 6, 10
	for _, method := range []HashMethod{HashLocal, HashDCT} {
		workers(t, func(t *testing.T, w *Worker) {
			exp := expected(t)
			hashes := map[string]uint64{}
			for name, e := range exp {
				if !e.OK {
					continue
				}
				m := pixels(t, w, photo(t, name))
				h, err := w.PerceptualHash(m, method)
				if err != nil {
					t.Fatal(err)
				}
				hashes[name] = h
			}
			for a, ha := range hashes {
				for b, hb := range hashes {
					d := Distance(ha, hb)
					same := exp[a].Group == exp[b].Group
					_, far := farVariants[method][a]
					_, farB := farVariants[method][b]
					if same && d > near && !far && !farB {
						t.Errorf("method %d: %s and %s show the same picture, distance %d", method, a, b, d)
					}
					if !same && d <= apart {
						t.Errorf("method %d: %s and %s show different pictures, distance %d", method, a, b, d)
					}
				}
			}
		})
	}
}

func TestHashOfOneColourIsZero(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	for _, method := range []HashMethod{HashLocal, HashDCT} {
		m := pixels(t, w, photo(t, "sub/flat.jpg"))
		if h, err := w.PerceptualHash(m, method); err != nil || h != 0 {
			t.Errorf("method %d: hash %016x, %v; want 0", method, h, err)
		}
	}
}

func TestHashOfTinyPictures(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	for _, size := range [][2]int{{1, 1}, {1, 300}, {300, 1}, {3, 2}} {
		m, err := Wrap(make([]byte, size[0]*size[1]), size[0], size[1], 1, 8, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []HashMethod{HashLocal, HashDCT} {
			w.Reset()
			if _, err := w.PerceptualHash(m, method); err != nil {
				t.Errorf("%v: %v", size, err)
			}
		}
	}
}
