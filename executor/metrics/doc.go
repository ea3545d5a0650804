// Package metrics shows a run to Prometheus. A Collector looks at the run when it is scraped and makes the metrics then: the engine counts per block
// what it counts anyway, nothing is added to its hot path, and no label is looked up in it.
//
// Names and labels are a contract with dashboards: metrics.golden in testdata pins them, and deploy/grafana has a board that uses them.
//
// It opens no port; the command line does that. Read collector.go first, then names.go.
package metrics
