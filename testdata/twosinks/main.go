// Command twosinks is a run of two results for tests that kill it: twosinks PARALLEL MEMORY_MIB INPUT_FOLDER RESULT_PLACE.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sluice-data/sluice"
)

func main() {
	if err := run(context.Background(), strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args string) (err error) {
	var parallel, memory int
	var in, place string
	if _, err := fmt.Sscan(args, &parallel, &memory, &in, &place); err != nil {
		return err
	}
	s, err := sluice.Open(ctx, sluice.WithParallel(parallel), sluice.WithMemory(int64(memory)<<20), sluice.WithPartSize(150<<10),
		sluice.WithCommitEvery(50*time.Millisecond))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	all := s.Read(in + "/*.jsonl")
	_, err = s.Run(ctx, all.Filter("n % 3 != 0").WriteJSONL(place+"/a/"), all.Filter("n % 2 == 0").WriteJSONL(place+"/b.jsonl"))
	return err
}
