// Package sqltest runs a real PostgreSQL server for tests, in a scratch folder on the loopback interface. It is for tests only. Read
// server.go.
package sqltest
