package operators

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// server answers /N with N bytes of the last digit of N, /slow/N only when as many others were asked for, and /missing with 404.
func server(t *testing.T, others int) *httptest.Server {
	t.Helper()
	release := make(chan struct{})
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/")
		if rest, slow := strings.CutPrefix(path, "slow/"); slow {
			<-release
			path = rest
		} else if asked.Add(1) == int64(others) {
			close(release)
		}
		n, err := strconv.Atoi(path)
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(bytes.Repeat([]byte{byte('0' + n%10)}, n))
	}))
	t.Cleanup(s.Close)
	return s
}

func mustDownload(tb testing.TB, p DownloadParams) dataset.Spec {
	tb.Helper()
	s, err := Download(p)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func urls(paths ...string) string {
	rows := make([]string, len(paths))
	for i, p := range paths {
		rows[i] = fmt.Sprintf(`{"n":%d,"url":%q}`, i, p)
		if p == "" {
			rows[i] = fmt.Sprintf(`{"n":%d,"url":null}`, i)
		}
	}
	return "[" + strings.Join(rows, ",") + "]"
}

var urlSchema = dt.Schema("n", arrow.PrimitiveTypes.Int64, "url", arrow.BinaryTypes.String)

func TestDownload(t *testing.T) {
	s := server(t, 0)
	make := func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
		return arraytest.FromJSON(t, mem, urlSchema, urls(s.URL+"/3", "", s.URL+"/missing", s.URL+"/0", s.URL+"/5", "nonsense", s.URL+"/99"))
	}
	dt.Shapes(t, make, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
		got := dt.Run(t, mem, mustDownload(t, DownloadParams{Column: "url", AllowPrivate: true, MaxBytes: 50}), dt.Config{}, in)
		var rows []string
		for _, b := range got.Blocks {
			n, d := b.Column(0).(*array.Int64), b.Column(2).(*array.Binary)
			for i := range b.NumRows() {
				rows = append(rows, fmt.Sprint(n.Value(i), " ", string(d.Value(i)), " ", d.IsNull(i)))
			}
		}
		if s := strings.Join(rows, ";"); s != "0 333 false;1  true;3  false;4 55555 false" {
			t.Errorf("rows are %s", s)
		}
		if s := strings.Join(got.IDs(), " "); s != "1:0 1:1 1:3 1:4" {
			t.Errorf("identities are %s", s)
		}
		want := "1:2: HOST/missing: the server answered 404 Not Found;1:5: scheme \"\" is not supported; there are http, https and file;" +
			"1:6: HOST/99: it has 99 bytes, more than max_bytes=50"
		if s := strings.Join(got.Causes(), ";"); strings.ReplaceAll(s, srv(s, want), "HOST") != want {
			t.Errorf("failures are %s, want %s", s, want)
		}
	})
}

// srv finds the host that stands for HOST.
func srv(have, _ string) string {
	i := strings.Index(have, "http://")
	if i < 0 {
		return "?"
	}
	j := strings.Index(have[i+7:], "/")
	return have[i : i+7+j]
}

// TestDownloadHoldsLittle lets the first row be slow while many large rows behind it are ready: what is held must stay bounded, and all must come out.
func TestDownloadHoldsLittle(t *testing.T) {
	s := server(t, 6) // by then the rows behind have reached the bound
	const rows, size = 60, 40_000
	paths := []string{s.URL + "/slow/40000"}
	for range rows - 1 {
		paths = append(paths, fmt.Sprintf("%s/%d", s.URL, size))
	}
	mem := arraytest.NewMemory(t)
	spec := mustDownload(t, DownloadParams{Column: "url", AllowPrivate: true, Window: 8})
	got := dt.Run(t, mem, spec, dt.Config{BlockBytes: 100_000}, dt.FromJSON(t, mem, urlSchema, urls(paths...)))
	if got.NumRows() != rows {
		t.Fatalf("%d rows came out", got.NumRows())
	}
	out := int64(0)
	for i, b := range got.Blocks {
		out += b.Bytes()
		if b.Column(0).(*array.Int64).Value(0) != int64(i*b.NumRows()) && i < len(got.Blocks)-1 {
			t.Errorf("block %d begins with row %d", i, b.Column(0).(*array.Int64).Value(0))
		}
		if b.NumRows() > 1 && b.Bytes() > 110_000 {
			t.Errorf("block %d has %d bytes", i, b.Bytes())
		}
	}
	if extra := mem.Peak() - out; extra > 600_000 {
		t.Errorf("%d bytes were held beyond the output", extra)
	}
}

func TestDownloadRefuses(t *testing.T) {
	schema := dt.Schema("url", arrow.BinaryTypes.String, "data", arrow.BinaryTypes.Binary, "n", arrow.PrimitiveTypes.Int64)
	for _, c := range []struct {
		p    DownloadParams
		want string
	}{
		{DownloadParams{}, "it needs the column of URLs: download url"},
		{DownloadParams{Column: "urk", Out: "x"}, `no column "urk" (did you mean "url"?)`},
		{DownloadParams{Column: "n", Out: "x"}, `column "n" is int64; URLs are text`},
		{DownloadParams{Column: "url"}, `there is a column "data" already; name another with out=NAME, or drop it first`},
		{DownloadParams{Column: "url", MaxBytes: 4 << 30}, "max_bytes=4GiB: it must be 1B to 2147483647B, what a binary column can hold"},
		{DownloadParams{Column: "url", Retries: -1}, "retries=-1: it must be 0 to 20"},
		{DownloadParams{Column: "url", Window: 9999}, "window=9999: it must be 1 to 4096"},
	} {
		s, err := Download(c.p)
		if err == nil {
			_, err = s.Check([]*arrow.Schema{schema})
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("error is %v, want %s", err, c.want)
		}
	}
}
