package spans

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
)

// maxSlow is how many slow blocks of a run become spans; the run's span says how many there were.
const maxSlow = 1000

// flushTime is how long the end of a run may wait for the receiver.
const flushTime = 5 * time.Second

// Config says where a trace goes and what it is of.
type Config struct {
	Endpoint    string // http://host:4318 or https://…; without a path, /v1/traces is added
	Version     string // of the program
	Command     string // what runs
	Traceparent string // W3C; empty for a trace of its own
}

// Tracer tells one run. Its methods may be called from any goroutine.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	export   *noting
	start    time.Time
	root     trace.Span
	ctx      context.Context // that holds root

	slow atomic.Int64
	mu   sync.Mutex // guards what follows
	of   []stageSpan
}

// stageSpan is the span of a stage; ended is whether it was.
type stageSpan struct {
	span  trace.Span
	ctx   context.Context
	ended bool
}

// Start begins the trace of a run. Nothing is sent before spans end.
func Start(ctx context.Context, c Config) (*Tracer, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, dataset.Usagef("--otlp is %q, want the address of an OTLP receiver over HTTP, such as http://127.0.0.1:4318", c.Endpoint)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exp, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
	if err != nil {
		return nil, fmt.Errorf("open --otlp %s: %w", c.Endpoint, err)
	}
	res, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "sluice"), attribute.String("service.version", c.Version)), resource.WithFromEnv(),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID())
	if err != nil {
		return nil, fmt.Errorf("open --otlp %s: %w", c.Endpoint, err)
	}
	t := &Tracer{export: &noting{SpanExporter: exp}, start: time.Now()}
	t.provider = sdk.NewTracerProvider(sdk.WithBatcher(t.export), sdk.WithResource(res), sdk.WithSampler(sdk.AlwaysSample()))
	t.tracer = t.provider.Tracer("github.com/sluice-data/sluice", trace.WithInstrumentationVersion(c.Version))
	parent := propagation.TraceContext{}.Extract(context.WithoutCancel(ctx), propagation.MapCarrier{"traceparent": c.Traceparent})
	t.ctx, t.root = t.tracer.Start(parent, "sluice run", trace.WithTimestamp(t.start), trace.WithAttributes(attribute.String("sluice.command", c.Command)))
	return t, nil
}

// Look begins and ends the spans of stages as r says: once with the report at the run's beginning, and then every second or so.
func (t *Tracer) Look(r *dataset.Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range r.Stages {
		s := &r.Stages[i]
		if i == len(t.of) {
			ctx, span := t.tracer.Start(t.ctx, s.Name, trace.WithTimestamp(t.start), trace.WithAttributes(attribute.Int("sluice.stage", i+1)))
			t.of = append(t.of, stageSpan{span: span, ctx: ctx})
		}
		if st := &t.of[i]; !st.ended && s.State == "ended" {
			st.ended = true
			st.span.SetAttributes(stageAttributes(s)...)
			st.span.End(trace.WithTimestamp(t.start.Add(lasted(s))))
		}
	}
}

// lasted is how long after the beginning of the run a stage ended.
func lasted(s *dataset.StageReport) time.Duration {
	d := s.Working
	for _, idle := range s.Idle {
		d += idle
	}
	return d
}

func stageAttributes(s *dataset.StageReport) []attribute.KeyValue {
	out := []attribute.KeyValue{
		attribute.Int64("sluice.rows_in", s.RowsIn), attribute.Int64("sluice.rows_out", s.RowsOut), attribute.Int64("sluice.bytes_in", s.BytesIn),
		attribute.Int64("sluice.bytes_out", s.BytesOut), attribute.Int64("sluice.blocks_in", s.BlocksIn), attribute.Int64("sluice.blocks_out", s.BlocksOut),
		attribute.Int64("sluice.failed_rows", s.Failed), attribute.Int64("sluice.memory_peak_bytes", s.PeakBytes), attribute.Int64("sluice.spilled_bytes", s.Spilled), attribute.Int64("sluice.allocated_bytes", s.Allocated),
		attribute.Float64("sluice.slot_seconds", s.Busy.Seconds()), attribute.Float64("sluice.working_seconds", s.Working.Seconds()),
		attribute.Float64("sluice.block_p50_seconds", s.P50.Seconds()), attribute.Float64("sluice.block_p99_seconds", s.P99.Seconds()),
	}
	for reason, d := range s.Idle {
		out = append(out, attribute.Float64("sluice.idle_seconds."+reason, d.Seconds()))
	}
	return out
}

// Slow tells of a slow block. It never waits.
func (t *Tracer) Slow(b executor.SlowBlock) {
	if t.slow.Add(1) > maxSlow {
		return
	}
	parent := t.ctx
	t.mu.Lock()
	if b.Stage < len(t.of) {
		parent = t.of[b.Stage].ctx
	}
	t.mu.Unlock()
	_, span := t.tracer.Start(parent, "slow block", trace.WithTimestamp(b.Began), trace.WithAttributes(attribute.String("sluice.step", b.Name), attribute.Int64("sluice.rows", b.Rows),
		attribute.Int64("sluice.bytes", b.Bytes), attribute.String("sluice.first_row", b.Where), attribute.Float64("sluice.median_seconds", b.Median.Seconds())))
	span.End(trace.WithTimestamp(b.Began.Add(b.Took)))
}

// End ends all spans, sends what is left, and says what could not be delivered. err is that of the run.
func (t *Tracer) End(r *dataset.Report, err error) error {
	t.Look(r)
	t.mu.Lock()
	for i := range t.of {
		if st := &t.of[i]; !st.ended { // the run failed before the stage could end
			st.ended = true
			st.span.SetAttributes(stageAttributes(&r.Stages[i])...)
			st.span.SetStatus(codes.Error, "the run ended before the stage")
			st.span.End()
		}
	}
	t.mu.Unlock()
	t.root.SetAttributes(attribute.String("sluice.run", r.Run), attribute.Bool("sluice.already_complete", r.Complete), attribute.Int64("sluice.rows_read", r.RowsRead),
		attribute.Int64("sluice.rows_written", r.RowsWritten), attribute.Int64("sluice.rows_failed", r.RowsFailed), attribute.Int64("sluice.memory_peak_bytes", r.PeakBytes),
		attribute.Int64("sluice.spilled_bytes", r.SpilledBytes), attribute.Int64("sluice.slow_blocks", t.slow.Load()), attribute.String("sluice.bottleneck", r.Bottleneck.Stage))
	if err != nil {
		t.root.SetStatus(codes.Error, err.Error())
	}
	t.root.End()
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	serr := t.provider.Shutdown(ctx)
	if first := t.export.first(); first != nil {
		return fmt.Errorf("send traces: %w", first)
	}
	if serr != nil {
		return fmt.Errorf("send traces: %w", serr)
	}
	return nil
}

// noting is an exporter that keeps the first error for the end of the run, instead of leaving it to a logger of the process.
type noting struct {
	sdk.SpanExporter
	err atomic.Pointer[error]
}

// ExportSpans implements sdk.SpanExporter.
func (n *noting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := n.SpanExporter.ExportSpans(ctx, spans); err != nil {
		n.err.CompareAndSwap(nil, &err)
	}
	return nil
}

func (n *noting) first() error {
	if p := n.err.Load(); p != nil {
		return *p
	}
	return nil
}
