package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/store"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/nvml"
	"github.com/sluice-data/sluice/gpu/triton"
)

// serversEnv names servers that doctor asks when it is given none.
const serversEnv = "SLUICE_TRITON"

// What a check ends in.
const (
	checkOK      = "ok"
	checkMissing = "missing"
	checkLow     = "low"
	checkFailed  = "failed"
)

// check is one line of doctor.
type check struct{ state, name, text string }

func (a *app) doctorCommand() *cobra.Command {
	var flags serverFlags
	c := &cobra.Command{
		Use:   "doctor [SERVER…]",
		Short: "Check this machine: libraries, model servers, GPUs, shared memory, limits",
		Long: `Check what this machine has for Sluice: libraries that some steps use and how to install the missing ones, model servers and their models, GPUs,
shared memory, and limits. Servers are those named, else those in ` + serversEnv + ` (HOST:PORT, comma-separated). Exit code 1 when a server cannot be used; what
is missing otherwise is no failure.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			opts, err := flags.options()
			if err != nil {
				return err
			}
			return a.doctor(c.Context(), args, opts)
		},
	}
	flags.register(c)
	return c
}

func (a *app) doctor(ctx context.Context, servers []string, opts gpu.Options) error {
	if len(servers) == 0 {
		for s := range strings.SplitSeq(os.Getenv(serversEnv), ",") {
			if s = strings.TrimSpace(s); s != "" {
				servers = append(servers, s)
			}
		}
	}
	for _, s := range servers {
		if err := triton.CheckAddress(s); err != nil {
			return &dataset.UsageError{Err: err}
		}
	}
	a.section("libraries", a.libraryChecks(ctx))
	serverLines := a.serverChecks(ctx, servers, opts)
	a.section("model servers", serverLines)
	a.section("GPUs", gpuChecks(nvml.Open))
	a.section("machine", a.machineChecks())
	failed := 0
	for _, c := range serverLines {
		if c.state == checkFailed {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s cannot be used", failed, plural(int64(len(servers)), "model server"))
	}
	return nil
}

func (a *app) section(title string, checks []check) {
	fmt.Fprintln(a.Stdout, bold(a.Stdout, title))
	lines := make([][]string, 0, len(checks))
	for _, c := range checks {
		lines = append(lines, []string{c.state, c.name, c.text})
	}
	fmt.Fprint(a.Stdout, aligned(lines, "  "))
}

func (a *app) libraryChecks(ctx context.Context) []check {
	var out []check
	if a.Libraries == nil {
		return out
	}
	for _, l := range a.Libraries(ctx) {
		switch {
		case l.Found != "":
			out = append(out, check{checkOK, l.Name, l.Found + "; for " + l.Uses})
		case l.Cause != "":
			out = append(out, check{checkMissing, l.Name, "for " + l.Uses + "; " + l.Cause})
		default:
			out = append(out, check{checkMissing, l.Name, "for " + l.Uses + "; to install: " + l.Install})
		}
	}
	return out
}

// serverChecks asks each server who it is and what it serves.
func (a *app) serverChecks(ctx context.Context, servers []string, opts gpu.Options) []check {
	if len(servers) == 0 {
		return []check{{"none", "", "name them (sluice doctor HOST:PORT) or set " + serversEnv}}
	}
	var out []check
	for _, addr := range servers {
		out = append(out, serverCheck(ctx, addr, opts))
	}
	return out
}

func serverCheck(ctx context.Context, addr string, opts gpu.Options) check {
	s, err := triton.Dial(addr, opts)
	if err != nil {
		return check{checkFailed, addr, err.Error()}
	}
	defer s.Close()
	if err := s.Ready(ctx); err != nil {
		return check{checkFailed, s.Host(), err.Error()}
	}
	text := ""
	if info, err := s.Describe(ctx); err == nil {
		text = serverTitle(info)
	}
	models, err := s.Models(ctx)
	if err != nil {
		return check{checkOK, s.Host(), text + "; it lists no models"}
	}
	var names []string
	for _, m := range models {
		name := m.Name
		if m.State != "READY" {
			name += " (" + strings.ToLower(m.State) + because(m.Reason) + ")"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	return check{checkOK, s.Host(), text + "; models: " + strings.Join(names, ", ")}
}

// gpuChecks describes the GPUs that the driver knows.
func gpuChecks(open func() (gpu.Devices, error)) []check {
	d, err := open()
	if errors.Is(err, gpu.ErrNoDriver) {
		return []check{{"none", "", "no GPU driver is installed here"}}
	}
	if err != nil {
		return []check{{checkFailed, "driver", err.Error()}}
	}
	defer d.Close()
	list, err := d.List()
	var out []check
	for _, g := range list {
		text := fmt.Sprintf("%s, %s of %s free", g.UUID, memorySize(g.FreeBytes), memorySize(g.MemoryBytes))
		if g.Busy >= 0 {
			text += fmt.Sprintf(", %.0f %% busy", g.Busy*100)
		}
		out = append(out, check{checkOK, fmt.Sprintf("%d %s", g.Index, g.Name), text + ", driver " + g.Driver})
	}
	if err != nil {
		out = append(out, check{checkFailed, "driver", err.Error()})
	} else if len(list) == 0 {
		out = append(out, check{"none", "", "the driver knows no GPU"})
	}
	return out
}

// leastShared is the shared memory below which model servers soon have to be sent their inputs inline: Docker gives 64 MiB unless told otherwise.
const leastShared = 256 << 20

// leastHandles is the number of open files below which runs over many files and connections may fail.
const leastHandles = 1024

func (a *app) machineChecks() []check {
	out := []check{{checkOK, "processors", fmt.Sprintf("%d, %s/%s", runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)}}
	if a.DefaultMemory != nil {
		out = append(out, check{checkOK, "memory", memorySize(a.DefaultMemory()) + " is the budget of a run unless --memory says otherwise"})
	}
	out = append(out, sharedCheck())
	if soft, hard, ok := openFiles(); ok {
		c := check{checkOK, "open files", fmt.Sprintf("up to %s (hard limit %s)", count(soft), count(hard))}
		if soft < leastHandles {
			c.state, c.text = checkLow, c.text+fmt.Sprintf("; raise it: ulimit -n %d", min(hard, 65536))
		}
		out = append(out, c)
	}
	return out
}

func sharedCheck() check {
	dir := store.DefaultDir()
	u, err := store.Look(dir)
	if err != nil {
		return check{checkMissing, "shared memory", err.Error()}
	}
	c := check{checkOK, "shared memory", fmt.Sprintf("%s: %s of %s free", dir, memorySize(u.FreeBytes), memorySize(u.TotalBytes))}
	if u.DeadOwners > 0 {
		c.text += fmt.Sprintf("; %s of dead programs are removed at the next start", plural(int64(u.DeadOwners), "left-over"))
	}
	if u.FreeBytes < leastShared {
		c.state, c.text = checkLow, c.text+"; model servers are sent large inputs inline: docker run --shm-size 2g, or mount -o remount,size=2g "+dir
	}
	return c
}
