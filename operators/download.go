package operators

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/internal/fetch"
)

// DownloadParams are the parameters of download.
type DownloadParams struct {
	Column       string           `json:"column" arg:"word" doc:"the column of URLs"`
	Out          string           `json:"out,omitempty" doc:"the column for the bytes; default data"`
	MaxBytes     dataset.ByteSize `json:"max_bytes,omitempty" doc:"largest body; default 64MiB"`
	Timeout      time.Duration    `json:"timeout,omitempty" doc:"for the answer, and again for the body; default 30s"`
	Retries      int              `json:"retries" doc:"tries after the first, for 429, 5xx and broken connections; default 4"`
	Window       int              `json:"window,omitempty" doc:"downloads at the same time; default 16"`
	AllowPrivate bool             `json:"allow_private,omitempty" doc:"also addresses that are not public, and the proxy of the environment"`
	AllowFiles   string           `json:"allow_files,omitempty" doc:"folder whose files file: URLs may name"`
}

var downloadDefaults = DownloadParams{Out: "data", MaxBytes: 64 << 20, Timeout: 30 * time.Second, Retries: 4, Window: 16}

// Defaults implements dataset.Defaulter.
func (DownloadParams) Defaults() any { return downloadDefaults }

func init() {
	define(dataset.Def{
		Name: "download",
		Doc:  "fetch the URLs of a column into a binary column",
		Help: "Adds the bytes behind each URL as column data; a null URL gives null. http and https URLs are fetched from public addresses only, unless " +
			"allow_private=true: names that lead into the private network are refused when they are dialled, also after redirects. file URLs are read only in the folder " +
			"that allow_files names. Failures that may go away (429, 5xx, broken connections) are tried again with growing waits, or when the server says; what " +
			"fails in the end is a row error.",
		Example: "download url max_bytes=10MiB timeout=10s",
	}, downloadDefaults, Download)
}

// Download fetches the URLs of a column. Zero values of Out, MaxBytes, Timeout and Window mean the defaults.
func Download(p DownloadParams) (dataset.Spec, error) {
	if p.Column == "" {
		return nil, errors.New("it needs the column of URLs: download url")
	}
	if p.Out == "" {
		p.Out = downloadDefaults.Out
	}
	if p.MaxBytes == 0 {
		p.MaxBytes = downloadDefaults.MaxBytes
	}
	if p.Timeout == 0 {
		p.Timeout = downloadDefaults.Timeout
	}
	if p.Window == 0 {
		p.Window = downloadDefaults.Window
	}
	switch {
	case p.MaxBytes < 0 || p.MaxBytes > math.MaxInt32:
		return nil, fmt.Errorf("max_bytes=%s: it must be 1B to %dB, what a binary column can hold", p.MaxBytes, math.MaxInt32)
	case p.Timeout < 0:
		return nil, fmt.Errorf("timeout=%v: it must be above 0", p.Timeout)
	case p.Retries < 0 || p.Retries > 20:
		return nil, fmt.Errorf("retries=%d: it must be 0 to 20", p.Retries)
	case p.Window < 1 || p.Window > 4096:
		return nil, fmt.Errorf("window=%d: it must be 1 to 4096", p.Window)
	}
	return &download{DownloadParams: p}, nil
}

// download is not declared Nondeterministic, though what is behind a URL may change: it never asks for a block to be tried again, and
// the engine would hold back all bodies of a block for that case, however many bytes they are.
type download struct{ DownloadParams }

var (
	_ dataset.Spec           = (*download)(nil)
	_ dataset.OneToOne       = (*download)(nil)
	_ dataset.Columner       = (*download)(nil)
	_ dataset.FilterCommuter = (*download)(nil)
	_ dataset.NotFusible     = (*download)(nil)
	_ dataset.Memory         = (*download)(nil)
)

func (*download) Name() string                 { return "download" }
func (*download) Version() int                 { return 1 }
func (d *download) Params() any                { return d.DownloadParams }
func (*download) Instances() dataset.Instances { return dataset.Any }

// Needs says that it waits: it holds no CPU slot while it does.
func (d *download) Needs() dataset.Resources {
	return dataset.Resources{NoCPU: true, Window: d.Window}
}

// Holds implements dataset.Memory.
func (*download) Holds() string { return "streams" }

// NotFusible implements dataset.NotFusible: it waits where others compute.
func (*download) NotFusible() bool { return true }

// RowsOneToOne implements dataset.OneToOne.
func (*download) RowsOneToOne() bool { return true }

// CommutesWithFilter implements dataset.FilterCommuter.
func (d *download) CommutesWithFilter(columns []string) bool {
	for _, c := range columns {
		if c == d.Out {
			return false
		}
	}
	return true
}

// Columns implements dataset.Columner.
func (d *download) Columns(_ *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	need := []string{}
	for _, c := range want {
		if c != d.Out {
			need = append(need, c)
		}
	}
	return needed(need, d.Column)
}

func (d *download) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	s, err := one(in)
	if err != nil {
		return nil, err
	}
	at, err := dataset.FieldIndex(s, d.Column)
	if err != nil {
		return nil, err
	}
	if _, ok := urlReader(s.Field(at).Type); !ok {
		return nil, fmt.Errorf("column %q is %s; URLs are text", d.Column, s.Field(at).Type)
	}
	if s.HasField(d.Out) {
		return nil, fmt.Errorf("there is a column %q already; name another with out=NAME, or drop it first", d.Out)
	}
	fields := append(s.Fields(), arrow.Field{Name: d.Out, Type: arrow.BinaryTypes.Binary, Nullable: true})
	md := s.Metadata()
	return arrow.NewSchema(fields, &md), nil
}

// urlReader returns how element i of a text column is read.
func urlReader(dt arrow.DataType) (func(a arrow.Array, i int) string, bool) {
	switch t := dt.(type) {
	case *arrow.StringType:
		return func(a arrow.Array, i int) string { return a.(*array.String).Value(i) }, true
	case *arrow.LargeStringType:
		return func(a arrow.Array, i int) string { return a.(*array.LargeString).Value(i) }, true
	case *arrow.DictionaryType:
		inner, ok := urlReader(t.ValueType)
		return func(a arrow.Array, i int) string {
			d := a.(*array.Dictionary)
			return inner(d.Dictionary(), d.GetValueIndex(i))
		}, ok
	}
	return nil, false
}

func (d *download) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := d.Check(in)
	if err != nil {
		return nil, err
	}
	at := in[0].FieldIndices(d.Column)[0]
	read, _ := urlReader(in[0].Field(at).Type)
	return &downloadOp{spec: d, out: out, url: at, read: read}, nil
}

// Open implements dataset.Operator.
func (o *downloadOp) Open(_ context.Context, rt dataset.Runtime) error {
	c, err := fetch.New(fetch.Config{
		MaxBytes: int64(o.spec.MaxBytes), Timeout: o.spec.Timeout, Retries: o.spec.Retries, Redirects: 5,
		AllowPrivate: o.spec.AllowPrivate, AllowFiles: o.spec.AllowFiles, Agent: "sluice",
	})
	if err != nil {
		return err
	}
	o.rt, o.client = rt, c
	o.gate = newGate(2*rt.BlockBytes(), uint64(4*o.spec.Window))
	return nil
}
