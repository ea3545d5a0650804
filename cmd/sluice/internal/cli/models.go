package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton"
)

// serverFlags are how to reach a model server.
type serverFlags struct {
	tls      bool
	tokenEnv string
	timeout  time.Duration
}

func (f *serverFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.tls, "tls", false, "use TLS")
	c.Flags().StringVar(&f.tokenEnv, "token-env", "", "environment variable that holds the server's bearer token")
	c.Flags().DurationVar(&f.timeout, "timeout", 5*time.Second, "how long to wait for an answer")
}

func (f *serverFlags) options() (gpu.Options, error) {
	o := gpu.Options{TLS: f.tls, Timeout: f.timeout}
	if f.tokenEnv != "" {
		if o.Token = os.Getenv(f.tokenEnv); o.Token == "" {
			return o, dataset.Usagef("--token-env %s: the variable is not set", f.tokenEnv)
		}
	}
	return o, nil
}

func (a *app) modelsCommand() *cobra.Command {
	var flags serverFlags
	c := &cobra.Command{
		Use:   "models URL",
		Short: "Show a model server's models, their inputs and outputs, batch limits and load",
		Long: `Show the models of a server that speaks the open inference protocol over gRPC: Triton, MLServer, KServe.

  sluice models triton://host:8001           every model of the server
  sluice models triton://host:8001/resnet18  one of them`,
		Args: exactly(1, "the address of a server"),
		RunE: func(c *cobra.Command, args []string) error {
			opts, err := flags.options()
			if err != nil {
				return err
			}
			return a.showModels(c.Context(), args[0], opts)
		},
	}
	flags.register(c)
	return c
}

func (a *app) showModels(ctx context.Context, url string, opts gpu.Options) error {
	s, err := triton.Dial(url, opts)
	if err != nil {
		return &dataset.UsageError{Err: err}
	}
	defer s.Close()
	info, err := s.Describe(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s\n", bold(a.Stdout, serverTitle(info)+" at "+s.Host()))
	list := []triton.ModelState{{Name: s.ModelName()}}
	if list[0].Name == "" {
		list, err = s.Models(ctx)
		if errors.Is(err, gpu.ErrUnsupported) {
			return fmt.Errorf("%w: this server lists no models; name one: sluice models triton://%s/MODEL", err, s.Host())
		}
		if err != nil {
			return err
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Stdout, "it has no models")
	}
	var failed error
	for _, m := range list {
		if err := a.showModel(ctx, s.Host(), m, opts); err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

func serverTitle(info *triton.ServerInfo) string {
	return strings.TrimSpace(info.Name + " " + info.Version)
}

// showModel prints one model; one that cannot be used is printed with the reason.
func (a *app) showModel(ctx context.Context, host string, m triton.ModelState, opts gpu.Options) error {
	if m.State != "" && m.State != "READY" {
		fmt.Fprintf(a.Stdout, "\n%s  %s%s\n", bold(a.Stdout, m.Name), strings.ToLower(m.State), because(m.Reason))
		return nil
	}
	opts.Version = m.Version
	model, err := triton.Open("triton://"+host+"/"+m.Name, opts)
	if err != nil {
		return err
	}
	defer model.Close()
	info, err := model.Info(ctx)
	if err != nil {
		fmt.Fprintf(a.Stdout, "\n%s  %v\n", bold(a.Stdout, m.Name), err)
		return err
	}
	fmt.Fprintf(a.Stdout, "\n%s  %s\n", bold(a.Stdout, m.Name), strings.Join(modelFacts(info), ", "))
	lines := tensorLines("input", info.Inputs)
	lines = append(lines, tensorLines("output", info.Outputs)...)
	if load, err := model.Load(ctx); err == nil {
		lines = append(lines, []string{"load", loadText(load)})
	}
	for _, n := range info.Notes {
		lines = append(lines, []string{"note", n})
	}
	_, err = fmt.Fprint(a.Stdout, aligned(lines, "  "))
	return err
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// modelFacts are the short facts of a model's headline.
func modelFacts(info *gpu.Info) []string {
	var facts []string
	if info.Version != "" {
		facts = append(facts, "version "+info.Version)
	}
	if info.Platform != "" {
		facts = append(facts, info.Platform)
	}
	if info.MaxBatch > 0 {
		facts = append(facts, "batches of up to "+count(int64(info.MaxBatch)))
	}
	if info.Parallel > 0 {
		facts = append(facts, plural(int64(info.Parallel), "instance"))
	}
	if info.Decoupled {
		facts = append(facts, "many responses to a request")
	}
	return facts
}

func tensorLines(kind string, list []gpu.TensorInfo) [][]string {
	var lines [][]string
	for _, t := range list {
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Shape), "[]"), " ", "x")
		lines = append(lines, []string{kind, t.Name, string(t.Type), strings.ReplaceAll(shape, "-1", "?")})
	}
	return lines
}

func loadText(l gpu.Load) string {
	s := fmt.Sprintf("%d running, %d waiting", l.Running, l.Waiting)
	if l.ComputeTime > 0 {
		s += fmt.Sprintf("; a request waits %s and takes %s", fine(l.QueueTime), fine(l.ComputeTime))
	}
	return s
}

// fine writes a duration of a request.
func fine(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
