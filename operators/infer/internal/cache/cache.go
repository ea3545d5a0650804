package cache

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/blake3"
	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/dataset/codec"
)

// Cache is the answers of one model. It is safe for concurrent use. Several of one file in a process share the file.
type Cache struct {
	mem    memory.Allocator
	schema *arrow.Schema
	*file
	dec *codec.Decoder

	mu     sync.Mutex
	recent map[uint64]arrow.RecordBatch // read frames, by number
	order  []uint64
}

// recentFrames is how many read frames are kept: rows of a run come in about the order of the run that asked.
const recentFrames = 8

// maxFrame bounds a frame that is read.
const maxFrame = 1 << 31

var (
	rowsBucket    = []byte("rows")
	answersBucket = []byte("answers")
)

// Open opens the answers of a model in a folder, which it makes. identity is all that answers depend on besides the inputs.
func Open(folder, model string, identity []string, schema *arrow.Schema, mem memory.Allocator) (*Cache, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // a folder of the user
		return nil, fmt.Errorf("open cache: %w", err)
	}
	h := blake3.New()
	for _, s := range append(identity, schema.String()) {
		_, _ = fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	name := filepath.Join(folder, plain(model)+"-"+hex.EncodeToString(h.Sum(nil)[:8])+".answers")
	f, err := share(name)
	if err != nil {
		return nil, err
	}
	dec, err := codec.NewDecoder(schema, maxFrame)
	if err != nil {
		return nil, errors.Join(err, f.leave())
	}
	return &Cache{mem: mem, schema: schema, file: f, dec: dec, recent: map[uint64]arrow.RecordBatch{}}, nil
}

// plain leaves what every file system takes.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// Get finds the answer to an input: row row of rec, which is borrowed until the next call.
func (c *Cache) Get(k Key) (rec arrow.RecordBatch, row int, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.db.View(func(tx *bbolt.Tx) error {
		place := tx.Bucket(rowsBucket).Get(k[:])
		if len(place) != 12 {
			return nil
		}
		n := binary.BigEndian.Uint64(place)
		if rec = c.recent[n]; rec == nil {
			frame := tx.Bucket(answersBucket).Get(place[:8])
			var err error
			if rec, err = c.dec.Decode(c.mem, frame); err != nil {
				return fmt.Errorf("read cache %s: %w; remove the file to begin anew", c.name, err)
			}
			c.remember(n, rec)
		}
		row, ok = int(binary.BigEndian.Uint32(place[8:])), true
		if row >= int(rec.NumRows()) {
			return fmt.Errorf("read cache %s: there is no row %d in frame %d; remove the file to begin anew", c.name, row, n)
		}
		return nil
	})
	return rec, row, ok && err == nil, err
}

// remember keeps a frame that was read, instead of the oldest.
func (c *Cache) remember(n uint64, rec arrow.RecordBatch) {
	c.recent[n] = rec
	c.order = append(c.order, n)
	if len(c.order) > recentFrames {
		c.recent[c.order[0]].Release()
		delete(c.recent, c.order[0])
		c.order = c.order[1:]
	}
}

// Put keeps the answers to inputs: row i of rec is that of keys[i]. It may wait for the disk.
func (c *Cache) Put(keys []Key, rec arrow.RecordBatch) error {
	frame, err := codec.NewEncoder(c.schema, codec.LZ4, c.mem).Append(nil, rec)
	if err != nil {
		return fmt.Errorf("keep answers: %w", err)
	}
	return c.add(keys, frame)
}

// Close writes what is not on disk yet and frees what Get read.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.recent {
		r.Release()
	}
	c.recent = nil
	return c.leave()
}

// file is one database, shared by the caches of a process.
type file struct {
	name string
	db   *bbolt.DB
	refs int

	mu      sync.Mutex
	waiting []entry
	rows    int
	written time.Time
}

type entry struct {
	keys  []Key
	frame []byte
}

// Answers go to disk together when there are so many rows, or after so long.
const (
	writeRows  = 1024
	writeAfter = time.Second
)

var files struct {
	sync.Mutex
	open map[string]*file
}

// share opens the database, or takes part in one that is open.
func share(name string) (*file, error) {
	files.Lock()
	defer files.Unlock()
	if f := files.open[name]; f != nil {
		f.refs++
		return f, nil
	}
	db, err := bbolt.Open(name, 0o644, &bbolt.Options{Timeout: 2 * time.Second, NoFreelistSync: true})
	if errors.Is(err, bbolt.ErrTimeout) {
		return nil, fmt.Errorf("open cache %s: another run uses it; name another folder, or wait for it", name)
	}
	if err == nil {
		err = db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists(rowsBucket)
			if err == nil {
				_, err = tx.CreateBucketIfNotExists(answersBucket)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("open cache %s: %w; remove the file to begin anew", name, err)
	}
	f := &file{name: name, db: db, refs: 1, written: time.Now()}
	if files.open == nil {
		files.open = map[string]*file{}
	}
	files.open[name] = f
	return f, nil
}

// leave closes the database after the last cache.
func (f *file) leave() error {
	files.Lock()
	defer files.Unlock()
	if f.refs--; f.refs > 0 {
		return nil
	}
	delete(files.open, f.name)
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.write(), f.db.Close())
}

func (f *file) add(keys []Key, frame []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = append(f.waiting, entry{keys, frame})
	f.rows += len(keys)
	if f.rows < writeRows && time.Since(f.written) < writeAfter {
		return nil
	}
	return f.write()
}

// write puts all that waits into one transaction; called with the lock held.
func (f *file) write() error {
	if len(f.waiting) == 0 {
		return nil
	}
	err := f.db.Update(func(tx *bbolt.Tx) error {
		rows, answers := tx.Bucket(rowsBucket), tx.Bucket(answersBucket)
		for _, e := range f.waiting {
			n, err := answers.NextSequence()
			if err != nil {
				return err
			}
			var place [12]byte
			binary.BigEndian.PutUint64(place[:], n)
			if err := answers.Put(place[:8], e.frame); err != nil {
				return err
			}
			for i, k := range e.keys {
				binary.BigEndian.PutUint32(place[8:], uint32(i))
				if err := rows.Put(k[:], append([]byte(nil), place[:]...)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	f.waiting, f.rows, f.written = nil, 0, time.Now()
	if err != nil {
		return fmt.Errorf("write cache %s: %w", f.name, err)
	}
	return nil
}
