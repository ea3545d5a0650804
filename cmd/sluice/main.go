package main

import (
	"context"
	"os"
	_ "time/tzdata" // time zones also where the system has none

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/cmd/sluice/internal/cli"
	"github.com/sluice-data/sluice/executor"
)

// version is set by the linker.
var version = "dev"

func main() {
	p := cli.Program{Version: version, Open: open, DefaultMemory: executor.DefaultMemory, Backends: backends}
	os.Exit(p.Main(context.Background(), os.Args[1:]))
}

// open opens a session on this machine with what the flags say.
func open(ctx context.Context, s cli.Settings) (cli.Session, error) {
	opts := []sluice.Option{sluice.WithMemory(s.MemoryBytes), sluice.WithOptions(s.Options)}
	if s.Parallel > 0 {
		opts = append(opts, sluice.WithParallel(s.Parallel))
	}
	if s.TempDir != "" || s.TempLimit > 0 {
		opts = append(opts, sluice.WithTempDir(s.TempDir, s.TempLimit))
	}
	if s.Watch != nil {
		opts = append(opts, sluice.WithWatch(func(w executor.Watcher) { s.Watch(w) }))
	}
	if s.Slow != nil {
		opts = append(opts, sluice.WithSlowBlocks(s.Slow))
	}
	return sluice.Open(ctx, opts...)
}
