// Package tritontest starts real model servers for tests and benchmarks, on this machine's loopback: Triton, MLServer and KServe, as hack/servers/install.sh
// puts them under .cache. Tests that use it have the build tag models. Read server.go first; models.go writes the models that they serve.
package tritontest
