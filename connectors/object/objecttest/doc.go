// Package objecttest runs a real S3 server for tests, versitygw over a local folder, and a proxy that injects faults between it and a
// client. It is for tests only: errors of the set-up are reported to them or fail them. Read gateway.go first.
package objecttest
