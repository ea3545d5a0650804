package commit_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		childMain()
		return
	}
	goleak.VerifyTestMain(withServer{m}, leakOptions...)
}

// serve starts what tests of a build tag need; stop ends it.
var serve = func() (stop func() error, err error) { return func() error { return nil }, nil }

var leakOptions []goleak.Option

type withServer struct{ m *testing.M }

// Run implements goleak.TestingM.
func (s withServer) Run() int {
	stop, err := serve()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := s.m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
