//go:build objects && linux

package object

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/object/objecttest"
	"github.com/sluice-data/sluice/dataset"
)

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bigObject is an object of so many bytes in a bucket of its own, and how it is reached without a proxy.
func bigObject(b *testing.B, size int64, ranges int, address func(backend string) string) (*bucket, dataset.FileRef) {
	b.Helper()
	var server *objecttest.Server
	for _, s := range servers {
		if s.Scheme == "s3" {
			server = s
		}
	}
	name, err := server.Bucket()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Write(name, "big", noise(int(size))); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Remove(name, "big") })
	cfg, err := fromEnv(func(string) string { return "" }, nil)
	if err != nil {
		b.Fatal(err)
	}
	cfg.S3Endpoint, cfg.S3PathStyle, cfg.Ranges = "http://"+address(server.Address), true, ranges
	get := func() (Config, error) { return cfg, nil }
	st := &store{scheme: "s3", drv: drivers["s3"], cfg: get, ahead: newBudget(get)}
	info, err := storeFS{st}.Stat(b.Context(), "s3://"+name+"/big")
	if err != nil {
		b.Fatal(err)
	}
	bk, err := st.bucket(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	return bk, info.FileRef
}

// readRaw reads an object with the cloud's own client, so many ranges at a time.
func readRaw(b *testing.B, bk *bucket, ref dataset.FileRef, ranges int) {
	var client *s3.Client
	if !bk.As(&client) {
		b.Fatal("no client")
	}
	size := bk.cfg.RangeBytes
	var eg errgroup.Group
	eg.SetLimit(ranges)
	for at := int64(0); at < ref.Size; at += size {
		eg.Go(func() error {
			n := min(size, ref.Size-at)
			out, err := client.GetObject(b.Context(), &s3.GetObjectInput{Bucket: aws.String(bk.name), Key: aws.String("big"), IfMatch: aws.String(ref.ETag),
				Range: aws.String(fmt.Sprintf("bytes=%d-%d", at, at+n-1))})
			if err != nil {
				return err
			}
			buf := takeBuffer(n, size)
			_, err = io.ReadFull(out.Body, buf)
			buffers.Put(&buf)
			return errors.Join(err, out.Body.Close())
		})
	}
	if err := eg.Wait(); err != nil {
		b.Fatal(err)
	}
}

// readOurs reads an object through a handle: in order, as text is, or side by side, as columns are.
func readOurs(b *testing.B, bk *bucket, ref dataset.FileRef, columns int64) {
	h, err := storeFS{bk.store}.Open(b.Context(), ref)
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	buf := make([]byte, 1<<20)
	if columns == 0 {
		h.(file.Advisor).Sequential(0, 0)
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{io.NewSectionReader(h, 0, ref.Size)}, buf); err != nil {
			b.Fatal(err)
		}
		return
	}
	part := ref.Size / columns
	var parts []file.Part
	for c := range columns {
		parts = append(parts, file.Part{Off: c * part, Len: part})
	}
	h.(file.Announcer).Announce(parts)
	for at := int64(0); at < part; at += int64(len(buf)) {
		for c := range columns {
			n := min(int64(len(buf)), part-at)
			if _, err := h.ReadAt(buf[:n], c*part+at); err != nil && err != io.EOF {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkRanges compares reading a big object with what the cloud's own client reads with as many ranges at a time, in turns: wall and cpu are the ratios
// of times to those of that client.
func BenchmarkRanges(b *testing.B) {
	const size = 256 << 20
	for _, ranges := range []int{1, 4, 16} {
		for name, columns := range map[string]int64{"in order": 0, "8 columns": 8} {
			b.Run(fmt.Sprintf("%s, %d at once", name, ranges), func(b *testing.B) {
				bk, ref := bigObject(b, size, ranges, func(backend string) string { return backend })
				readRaw(b, bk, ref, ranges)
				var raw, ours, rawCPU, oursCPU time.Duration
				b.SetBytes(size)
				for b.Loop() {
					t0, c0 := time.Now(), cpuTime()
					readRaw(b, bk, ref, ranges)
					t1, c1 := time.Now(), cpuTime()
					readOurs(b, bk, ref, columns)
					raw, rawCPU = raw+t1.Sub(t0), rawCPU+c1-c0
					ours, oursCPU = ours+time.Since(t1), oursCPU+cpuTime()-c1
				}
				b.ReportMetric(float64(ours)/float64(raw), "wall")
				b.ReportMetric(float64(oursCPU)/float64(rawCPU), "cpu")
			})
		}
	}
}

// BenchmarkFar reads through a proxy that makes each answer wait 50 ms.
func BenchmarkFar(b *testing.B) {
	const size = 64 << 20
	for _, ranges := range []int{1, 2, 4, 8, 16} {
		for name, columns := range map[string]int64{"in order": 0, "8 columns": 8} {
			b.Run(fmt.Sprintf("%s, %d at once", name, ranges), func(b *testing.B) {
				bk, ref := bigObject(b, size, ranges, func(backend string) string {
					p := objecttest.NewProxy(b, backend)
					p.Set(func(*http.Request) objecttest.Fault { return objecttest.Fault{Delay: 50 * time.Millisecond} })
					return p.Listener.Addr().String()
				})
				b.SetBytes(size)
				for b.Loop() {
					readOurs(b, bk, ref, columns)
				}
			})
		}
	}
}
