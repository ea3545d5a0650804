package spans

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
)

// receiver is an OTLP receiver over HTTP, of the official protocol.
type receiver struct {
	mu    sync.Mutex
	spans []*otlp.Span
	attrs map[string]string // of the resource
	path  string
	auth  string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	raw, err := io.ReadAll(body)
	var in collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(raw, &in) != nil {
		http.Error(w, "not understood", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.path, r.auth, r.attrs = req.URL.Path, req.Header.Get("Authorization"), map[string]string{}
	for _, rs := range in.GetResourceSpans() {
		for _, a := range rs.GetResource().GetAttributes() {
			r.attrs[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, ss := range rs.GetScopeSpans() {
			r.spans = append(r.spans, ss.GetSpans()...)
		}
	}
	out, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

func report() dataset.Report {
	r := dataset.Report{Run: "r1", RowsRead: 10, RowsWritten: 9, RowsFailed: 1, Progress: dataset.Progress{State: dataset.RunRunning}}
	for _, name := range []string{"read images", "decode"} {
		r.Stages = append(r.Stages, dataset.StageReport{Name: name, RowsIn: 10, RowsOut: 9, Busy: time.Second, Flow: dataset.Flow{State: "open", Working: time.Second,
			Idle: map[string]time.Duration{"input": 2 * time.Second}}})
	}
	return r
}

func TestTraceOfARun(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20secret")
	rcv := &receiver{}
	srv := httptest.NewServer(rcv)
	defer srv.Close()
	tr, err := Start(t.Context(), Config{Endpoint: srv.URL, Version: "v9", Command: "a | b", Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	if err != nil {
		t.Fatal(err)
	}
	r := report()
	tr.Look(&r)
	began := time.Now().Add(-time.Second)
	tr.Slow(executor.SlowBlock{Stage: 1, Name: "decode", Began: began, Took: time.Second, Median: 10 * time.Millisecond, Rows: 3, Where: "a.jpg at 0"})
	r.Stages[0].State = "ended"
	tr.Look(&r)
	if err := tr.End(&r, errors.New("disk full")); err != nil {
		t.Fatal(err)
	}
	by := map[string]*otlp.Span{}
	for _, s := range rcv.spans {
		by[s.GetName()] = s
	}
	root, read, decode, slow := by["sluice run"], by["read images"], by["decode"], by["slow block"]
	if len(rcv.spans) != 4 || root == nil || read == nil || decode == nil || slow == nil {
		t.Fatalf("spans are %v", rcv.spans)
	}
	if rcv.path != "/v1/traces" || rcv.auth != "Bearer secret" || rcv.attrs["service.name"] != "sluice" || rcv.attrs["service.version"] != "v9" {
		t.Errorf("sent to %s by %v, authorization %q", rcv.path, rcv.attrs, rcv.auth)
	}
	for _, parent := range []struct{ child, of *otlp.Span }{{read, root}, {decode, root}, {slow, decode}} {
		if string(parent.child.GetParentSpanId()) != string(parent.of.GetSpanId()) || string(parent.child.GetTraceId()) != "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c" {
			t.Errorf("%s is not below %s in the caller's trace", parent.child.GetName(), parent.of.GetName())
		}
	}
	if d := time.Duration(read.GetEndTimeUnixNano() - read.GetStartTimeUnixNano()); d != 3*time.Second {
		t.Errorf("the stage lasted %s", d)
	}
	if d := time.Duration(slow.GetEndTimeUnixNano() - slow.GetStartTimeUnixNano()); d != time.Second || slow.GetStartTimeUnixNano() != uint64(began.UnixNano()) {
		t.Errorf("the slow block lasted %s", d)
	}
	if root.GetStatus().GetMessage() != "disk full" || read.GetStatus().GetCode() != otlp.Status_STATUS_CODE_UNSET || decode.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("states are %v, %v, %v", root.GetStatus(), read.GetStatus(), decode.GetStatus())
	}
}

func TestSlowBlocksAreBounded(t *testing.T) {
	rcv := &receiver{}
	srv := httptest.NewServer(rcv)
	defer srv.Close()
	tr, err := Start(t.Context(), Config{Endpoint: srv.URL + "/v1/traces"})
	if err != nil {
		t.Fatal(err)
	}
	for range maxSlow + 500 {
		tr.Slow(executor.SlowBlock{Began: time.Now()})
	}
	if err := tr.End(&dataset.Report{}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(rcv.spans); n > maxSlow+1 || n < maxSlow/2 {
		t.Errorf("%d spans were sent", n)
	}
}

func TestReceiversThatAreNotThere(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "500")
	for _, address := range []string{"", "127.0.0.1:4318", "grpc://x:4317", "http://"} {
		if _, err := Start(t.Context(), Config{Endpoint: address}); err == nil || !strings.Contains(err.Error(), "--otlp") {
			t.Errorf("%q: %v", address, err)
		}
	}
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	tr, err := Start(t.Context(), Config{Endpoint: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.End(&dataset.Report{}, nil); err == nil || !strings.Contains(err.Error(), "send traces") {
		t.Errorf("the end says %v", err)
	}
}
