// Package objecttest runs real servers of object stores for tests, each on this machine's loopback: versitygw (s3), fake-gcs-server (gs) and
// Azurite (az), and a proxy that injects faults between one of them and a client. What a server holds is looked at and changed with plain
// requests (or files, where it keeps files), so that no test checks Sluice with itself.
//
// It is for tests only: errors of the set-up are reported to them or fail them. Read server.go first.
package objecttest
