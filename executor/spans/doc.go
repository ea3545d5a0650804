// Package spans tells a run as an OpenTelemetry trace: a span for the run, one below it for each stage, and one below that for each block that took unusually long.
// Spans are sent over OTLP as they end, in batches, beside the run; a receiver that is slow or gone costs spans and never the run.
//
// The usual OTEL_EXPORTER_OTLP_* variables (headers, certificates, timeouts) apply, and OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. A W3C traceparent makes the run a
// part of the trace of whoever started it.
//
// Read tracer.go.
package spans
