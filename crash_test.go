package sluice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// crashPlan is a pipeline that is killed and run again.
type crashPlan struct {
	name, steps, target string
	flags               []string
	broken              bool   // the input has broken lines
	inOrder             bool   // the result has one order
	two                 bool   // a run of two sinks, by the Go API
	dead                bool   // it ends with exit code 3, and its dead letters are compared too
	before              string // steps of a run whose result is there already
}

var crashPlans = []crashPlan{
	{name: "filter", steps: "where n % 3 != 0", target: "out/"},
	{name: "filter, one file", steps: "where n % 3 != 0", target: "out.jsonl", inOrder: true},
	{name: "filter, one file that stays one", steps: "where n % 3 != 0", target: "out.jsonl", flags: []string{"--part-size", "1GiB"}, inOrder: true},
	{name: "flat map", steps: "unnest tags | where tags != 'a3'", target: "out/"},
	{name: "row errors", steps: "where n % 2 == 0", target: "out/", flags: []string{"--on-error", "skip"}, broken: true},
	{name: "dead letters", steps: "with d = n % 7 == 3 ? int(text) : n", target: "out/", flags: []string{"--on-error", "dead-letter"}, broken: true, dead: true},
	{name: "sort", steps: "where n % 5 == 0 | sort text", target: "out/", inOrder: true},
	{name: "sort, one file", steps: "sort text desc", target: "out.jsonl", inOrder: true},
	{name: "partitioned", steps: "where n % 3 != 1", target: "out/ by=mod"},
	{name: "partitioned, ordered", steps: "where n % 3 != 1", target: "out/ by=mod", flags: []string{"--ordered", "--seed", "9"}},
	{name: "ordered", steps: "where n % 3 != 0", target: "out/", flags: []string{"--ordered"}, inOrder: true},
	{name: "ordered, seed", steps: "unnest tags", target: "out/", flags: []string{"--ordered", "--seed", "3"}, inOrder: true},
	{name: "sample", steps: "sample 0.5", target: "out/"},
	{name: "ordered limit", steps: "limit 25000", target: "out/", flags: []string{"--ordered"}, inOrder: true},
	{name: "two sinks", two: true},
	{name: "overwrite", before: "where n % 2 == 0", steps: "where n % 3 != 0", target: "out/", flags: []string{"--overwrite"}},
	{name: "append to one file", before: "where n % 2 == 0", steps: "where n % 3 != 0", target: "out.jsonl", flags: []string{"--append", "--part-size", "1GiB"}},
}

const (
	crashFiles = 8
	crashRows  = 6_000
)

// crashPlace is where results go: a folder, or a bucket whose objects are the files of a folder.
type crashPlace struct {
	url   string // what stands before the name of the result
	dir   string
	env   []string
	fetch func() error // makes dir what is at the place now; nil: it always is
}

func local(dir string) crashPlace { return crashPlace{url: dir, dir: dir} }

// look makes sure that the folder of the place shows what is there.
func (p crashPlace) look(t *testing.T) {
	t.Helper()
	if p.fetch != nil {
		if err := p.fetch(); err != nil {
			t.Fatal(err)
		}
	}
}

// command is one run of the plan.
func (p crashPlan) command(t *testing.T, at crashPlace, in string, parallel, memory int) *exec.Cmd {
	t.Helper()
	var cmd *exec.Cmd
	if p.two {
		cmd = built(t, "twosinks", fmt.Sprint(parallel), fmt.Sprint(memory), in, at.url)
	} else {
		args := append([]string{"--quiet", "--to", "jsonl", "--part-size", "150KiB", "--commit-every", "50ms", "--parallel", fmt.Sprint(parallel),
			"--memory", fmt.Sprintf("%dMiB", memory)}, p.flags...)
		cmd = sluiceCommand(t, append(args, fmt.Sprintf("%s/*.jsonl | %s | %s/%s", in, p.steps, at.url, p.target))...)
	}
	cmd.Env = append(cmd.Env, at.env...)
	return cmd
}

// results are the files and folders that the plan writes.
func (p crashPlan) results(at crashPlace) []string {
	if p.two {
		return []string{at.dir + "/a", at.dir + "/b.jsonl"}
	}
	return []string{filepath.Join(at.dir, strings.TrimSuffix(strings.Fields(p.target)[0], "/"))}
}

// prepare makes what is there before.
func (p crashPlan) prepare(t *testing.T, at crashPlace, in string) {
	t.Helper()
	if p.before != "" {
		first := p
		first.before, first.steps, first.flags = "", p.before, []string{"--part-size", "1GiB"}
		first.finish(t, at, in, 2, 64)
	}
}

// finish lets a run end and returns its rows, and its dead letters.
func (p crashPlan) finish(t *testing.T, at crashPlace, in string, parallel, memory int) (rows, dead []string) {
	t.Helper()
	cmd := p.command(t, at, in, parallel, memory)
	if msg, err := cmd.CombinedOutput(); err != nil && !(p.dead && cmd.ProcessState.ExitCode() == 3) {
		t.Fatalf("run to the end: %v: %s", err, msg)
	}
	at.look(t)
	rows = linesIn(t, p.inOrder, p.results(at)...)
	if p.dead {
		errs := sluiceCommand(t, "errors", "--json", at.url+"/"+p.target)
		errs.Env = append(errs.Env, at.env...)
		out, err := errs.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out) {
			var l struct {
				Path, Operator, Message string
				Identity                struct{ Position uint64 }
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			dead = append(dead, fmt.Sprintf("%s@%d %s: %s", l.Path, l.Identity.Position, l.Operator, l.Message))
		}
		slices.Sort(dead)
	}
	return rows, dead
}

// crashPoints are the named crash points of the code, those first that only an attempt passes which goes on with a run.
func crashPoints(t *testing.T) (resuming, others []string) {
	t.Helper()
	names, err := filepath.Glob("executor/commit/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		raw, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\tcrashpoint\("([^"]+)"\)`).FindAllStringSubmatch(string(raw), -1) {
			switch {
			case m[1] == "run resumed":
				resuming = slices.Insert(resuming, 0, m[1])
			case strings.HasPrefix(m[1], "log "):
				resuming = append(resuming, m[1])
			default:
				others = append(others, m[1])
			}
		}
	}
	slices.Sort(others)
	if others = slices.Compact(others); len(others) < 10 || len(resuming) < 2 {
		t.Fatalf("crash points %q and %q: the search is broken", others, resuming)
	}
	return resuming, others
}

// TestCrash kills real runs at every named crash point and at random moments, several times, each time with another parallelism and memory,
// before one is left to end. After each kill everything visible is whole; in the end the rows are those of an undisturbed run.
func TestCrash(t *testing.T) {
	crashMatrix(t, func(t *testing.T) crashPlace { return local(t.TempDir()) })
}

// crashMatrix kills runs at places. It prints the kills by point and by plan at the end. Without SLUICE_CHAOS each plan is killed at some of
// the points, so that all plans together pass each.
func crashMatrix(t *testing.T, place func(t *testing.T) crashPlace) {
	rounds, every := 1, 6
	if os.Getenv("SLUICE_CHAOS") != "" {
		rounds, every = 2, 1
	}
	in, broken := t.TempDir(), t.TempDir()
	writeNumbers(t, in, crashFiles, crashRows, false)
	writeNumbers(t, broken, crashFiles, crashRows, true)
	resuming, others := crashPoints(t)
	points := slices.Concat(resuming, others)
	if _, err := binaries(); err != nil { // before the first run is timed
		t.Fatal(err)
	}
	kills := map[string]int{}
	for i, p := range crashPlans {
		t.Run(p.name, func(t *testing.T) {
			c := &crasher{plan: p, in: in, kills: kills, random: rand.New(rand.NewPCG(11, uint64(i)))}
			if p.broken {
				c.in = broken
			}
			begun := time.Now()
			calm := place(t)
			p.prepare(t, calm, c.in)
			c.want, c.dead = p.finish(t, calm, c.in, 2, 64)
			c.span = time.Since(begun)
			if len(c.want) < crashRows || p.dead && len(c.dead) < crashRows/7 {
				t.Fatalf("the undisturbed run has %d rows and %d dead letters", len(c.want), len(c.dead))
			}
			for round := range rounds {
				c.disturb(t, place(t), make([]string, 2+c.random.IntN(2))...)
				for k, point := range points {
					if (i+k+round)%every > 0 && !(point == "old parts removed" && p.before != "" || point == "dead letters durable" && p.dead) {
						continue
					}
					switch {
					case k == 0:
						c.disturb(t, place(t), "generation committed", point, "")
					case k < len(resuming): // a segment to give up comes from an attempt that was killed
						c.disturb(t, place(t), "generation committed", resuming[0], point, "")
					default:
						c.disturb(t, place(t), point, "", point)
					}
				}
			}
		})
	}
	all := 0
	for _, n := range kills {
		all += n
	}
	t.Logf("%d kills:", all)
	for _, point := range append(points, "at random") {
		t.Logf("%-24s %5d", point, kills[point])
		if kills[point] == 0 {
			t.Errorf("no run was killed at %q", point)
		}
	}
}

// crasher kills runs of one plan.
type crasher struct {
	plan       crashPlan
	in         string
	want, dead []string
	span       time.Duration // of an undisturbed run
	kills      map[string]int
	random     *rand.Rand
}

// disturb kills an attempt at each point ("": at a random moment), lets one end and compares what there is then.
func (c *crasher) disturb(t *testing.T, at crashPlace, points ...string) {
	t.Helper()
	c.plan.prepare(t, at, c.in)
	kills := 0
	for _, point := range points {
		cmd := c.plan.command(t, at, c.in, 1+c.random.IntN(4), []int{48, 64, 256}[c.random.IntN(3)])
		cmd.Env = append(cmd.Env, "SLUICE_COMPACT_AFTER=1")
		timer := time.NewTimer(time.Hour)
		if point != "" {
			cmd.Env = append(cmd.Env, "SLUICE_CRASHPOINT="+point+":1")
		} else {
			timer.Reset(time.Duration(c.random.Int64N(int64(c.span))) * 9 / 10)
		}
		if c.killed(t, cmd, timer) {
			kills++
			if point == "" {
				point = "at random"
			}
			c.kills[point]++
		}
		at.look(t)
		linesIn(t, false, c.plan.results(at)...)
	}
	rows, dead := c.plan.finish(t, at, c.in, 1+c.random.IntN(4), 64)
	if !slices.Equal(rows, c.want) {
		t.Fatalf("%d rows after %d kills at %q, want %d: %s", len(rows), kills, points, len(c.want), firstDifference(rows, c.want))
	}
	if !slices.Equal(dead, c.dead) {
		t.Fatalf("%d dead letters after %d kills at %q, want %d: %s", len(dead), kills, points, len(c.dead), firstDifference(dead, c.dead))
	}
	nothingStaged(t, at.dir)
}

// killed runs a command, kills it when the timer fires, and tells whether it was killed, by that or by itself.
func (c *crasher) killed(t *testing.T, cmd *exec.Cmd, timer *time.Timer) bool {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer timer.Stop()
	select {
	case <-timer.C:
		_ = cmd.Process.Kill() // it may have ended just now
		<-ended
	case <-ended:
	}
	return !cmd.ProcessState.Exited()
}
