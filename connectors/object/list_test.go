package object

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// listing is a bucket of very many objects that exist nowhere but in the answers of a server, which gives them in pages of a thousand as S3 does.
type listing struct {
	objects int
	pages   int
}

func listedKey(i int) string { return fmt.Sprintf("in/%04d/%08d.txt", i/1000, i) }

// ServeHTTP implements http.Handler.
func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.pages++
	q := r.URL.Query()
	first := 0
	if token := q.Get("continuation-token"); token != "" {
		first, _ = strconv.Atoi(token)
	} else if after := q.Get("start-after"); after != "" {
		n, _ := strconv.Atoi(strings.TrimSuffix(after[strings.LastIndexByte(after, '/')+1:], ".txt"))
		first = n + 1
	}
	end := min(first+1000, l.objects)
	if most := q.Get("max-keys"); most == "1" {
		end = min(first+1, l.objects)
	}
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprintf(w, `<?xml version="1.0"?><ListBucketResult><Name>many</Name><Prefix>in/</Prefix><KeyCount>%d</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>%t</IsTruncated>`, end-first, end < l.objects)
	if end < l.objects {
		fmt.Fprintf(w, "<NextContinuationToken>%d</NextContinuationToken>", end)
	}
	for i := first; i < end; i++ {
		fmt.Fprintf(w, `<Contents><Key>%s</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>&quot;%032x&quot;</ETag><Size>%d</Size><StorageClass>STANDARD</StorageClass></Contents>`,
			listedKey(i), i, 4096)
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// listFrom lists a bucket of n objects behind a key, calls each for every hundred thousandth, and returns how many there were.
func listFrom(tb testing.TB, l *listing, after string, each func()) (n int) {
	tb.Helper()
	server := httptest.NewServer(l)
	defer server.Close()
	cfg := testConfig()
	cfg.S3Endpoint, cfg.S3PathStyle, cfg.S3Anonymous = server.URL, true, true
	get := func() (Config, error) { return cfg, nil }
	s := &store{scheme: "s3", drv: drivers["s3"], cfg: get, ahead: newBudget(get)}
	set := file.NewSet(storeFS{s}, []dataset.Pattern{{Text: "s3://many/in/**/*.txt"}})
	last := after
	for ref, err := range set.Files(tb.Context(), after) {
		if err != nil {
			tb.Fatal(err)
		}
		if ref.Path <= last || ref.ETag == "" || ref.Size != 4096 {
			tb.Fatalf("%+v behind %s", ref, last)
		}
		last = ref.Path
		if n++; n%100_000 == 0 {
			each()
		}
	}
	server.CloseClientConnections()
	if b, err := s.bucket(tb.Context(), "many"); err == nil {
		_ = b.Close()
	}
	return n
}

// manyObjects is how many objects TestListMany lists; a million with the tag objects.
var manyObjects = 100_000

// TestListMany: a listing holds a page at a time, however many objects there are, and goes on behind any of them.
func TestListMany(t *testing.T) {
	objects := manyObjects
	l := &listing{objects: objects}
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := live(), uint64(0)
	begin := time.Now()
	n := listFrom(t, l, "", func() { most = max(most, live()) })
	if n != objects {
		t.Errorf("%d objects, want %d", n, objects)
	}
	const bound = 8 << 20 // a page of a thousand keys, as text, as XML and as objects
	if most > before+bound {
		t.Errorf("%d bytes are held while %d objects are listed, at most %d are expected", most-before, objects, bound)
	}
	t.Logf("%d objects in %d pages, %.1f s, %d KB held", n, l.pages, time.Since(begin).Seconds(), (int64(most)-int64(before))>>10)
	l.pages = 0
	if n := listFrom(t, l, "s3://many/"+listedKey(objects-10_001), func() {}); n != 10_000 || l.pages > 12 {
		t.Errorf("behind a key near the end: %d objects in %d pages", n, l.pages)
	}
}

// BenchmarkListMany lists objects of a server in the same process, whose work counts too.
func BenchmarkListMany(b *testing.B) {
	b.ReportAllocs()
	l := &listing{objects: 100_000}
	for b.Loop() {
		if n := listFrom(b, l, "", func() {}); n != l.objects {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(l.objects*b.N)/b.Elapsed().Seconds(), "objects/s")
}
