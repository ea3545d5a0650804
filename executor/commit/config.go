package commit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

const (
	defaultPartBytes   = 512 << 20
	defaultCommitEvery = time.Minute
	defaultOpenParts   = 64
)

// Config is what a Manager must know of its run and sink.
type Config struct {
	Sink   dataset.Sink
	Schema *arrow.Schema // of the rows that come
	// Plan is the canonical plan, from Plan. It is needed for sinks that are a Target.
	Plan []byte
	// Inputs lists the files that the run would read, as ListInputs does. It is called only if the plan is that of the last finished
	// run. Nil means that inputs cannot be compared: the same command is then never complete.
	Inputs  func() iter.Seq2[Input, error]
	Options dataset.Options
	Run     string // id, from NewRunID, the same for all sinks of a run
	Index   int    // which sink of the run this is, for TokenState
	Lanes   int    // how many writers write at once; 1 if order matters
	// Deferred tells which sources (ids as in block.File, those of barriers included) must not commit before the end of the run: the
	// outputs of barriers and sources whose rows reach this sink through one. Nil means none.
	Deferred func(source uint32) bool
	// BeforeCommit is called before a generation's record is written, from the committer's goroutine: what must be durable along with
	// its ranges (rows set aside) is made durable there. Nil means nothing.
	BeforeCommit func(ctx context.Context) error
	// Retry is set for a run that tries failed rows again.
	Retry *Retry
	// NoRetry says why failed rows of this plan cannot be tried again by themselves, for the log; "" if they can.
	NoRetry string
	// Scratch makes a temporary file for rows set aside whose generation is not committed yet. Nil keeps them in memory.
	Scratch func() (*dataset.ScratchFile, error)
	// Sources are the sources that feed the sink, as identities name them, in an order that depends on the sink's own plan alone. Nil means
	// that the names are such numbers.
	Sources   []uint32
	Backends  string // decoders in use, for the log
	OpenParts int    // most parts open at once where partitioned; default 64
	// OverflowBytes is how much of the rows of other partitions is held in memory at most, a generation; default a share of the budget.
	OverflowBytes int64
	Now           func() time.Time // default time.Now
	Logger        *slog.Logger
	// Failed is told, once and from any goroutine, when committing failed; the run should stop. It must not block.
	Failed func(error)

	attempt int
}

// NewRunID makes the id of a run: sortable by time, and unique.
func NewRunID(now time.Time) string {
	return now.UTC().Format("20060102T150405") + "-" + strings.ToLower(rand.Text()[:8])
}

func (c Config) complete() (Config, error) {
	switch {
	case c.Sink == nil || c.Schema == nil:
		return c, errors.New("open commit manager: no sink or no schema")
	case c.Run == "" || strings.ContainsAny(c.Run, "/\\. "):
		return c, fmt.Errorf("open commit manager: invalid run id %q", c.Run)
	case c.Lanes < 1:
		return c, fmt.Errorf("open commit manager: %d lanes", c.Lanes)
	case c.exact() && c.Lanes != 1:
		return c, fmt.Errorf("open commit manager: %d lanes in an ordered run with a seed, want 1", c.Lanes)
	}
	if c.Options.PartBytes <= 0 {
		c.Options.PartBytes = defaultPartBytes
	}
	if c.Options.CommitEvery <= 0 {
		c.Options.CommitEvery = defaultCommitEvery
	}
	if c.OpenParts <= 0 {
		c.OpenParts = defaultOpenParts
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Deferred == nil {
		c.Deferred = func(uint32) bool { return false }
	}
	if c.BeforeCommit == nil {
		c.BeforeCommit = func(context.Context) error { return nil }
	}
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	return c, nil
}

// exact tells whether the files must be the same bytes in every run: parts then end at rows that depend on nothing but the rows.
func (c Config) exact() bool { return c.Options.Ordered && c.Options.SeedSet }

// asked is how the target was asked to be treated, for the log.
func asked(o dataset.Options) string {
	if o.Incremental {
		return string(Incremental)
	}
	return string(o.Target)
}

// owner describes this process for the one that finds the lock taken.
func (c Config) owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return fmt.Sprintf("process %d on %s since %s (run %s)", os.Getpid(), host, c.Now().Format(time.RFC3339), c.Run)
}

// crashpoint is called at the named moments between which a crash can fall. Tests set it to kill the process there.
var crashpoint = func(string) {}

// stateOf is the storage of a target's state. Benchmarks that measure what the state costs put another one in its place.
var stateOf = func(s dataset.Storage) dataset.Storage { return s }
