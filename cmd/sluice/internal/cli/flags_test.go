package cli

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/sluice-data/sluice/dataset"
)

func parseFlags(t *testing.T, args ...string) (*flags, error) {
	t.Helper()
	f := &flags{}
	fs := pflag.NewFlagSet("sluice", pflag.ContinueOnError)
	f.register(fs)
	return f, fs.Parse(args)
}

func TestSettings(t *testing.T) {
	f, err := parseFlags(t, "--memory", "256MiB", "--parallel=3", "--on-error", "skip", "--overwrite", "--ordered", "--seed", "7",
		"--part-size", "1GB", "--commit-every", "5s", "--temp-dir", "/x", "--temp-limit", "2KiB", "--set", "a=b=c", "--set", "d=")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.settings("cmd")
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{MemoryBytes: 256 << 20, Parallel: 3, TempDir: "/x", TempLimit: 2048, Options: dataset.Options{
		OnError: dataset.OnErrorSkip, Target: dataset.TargetOverwrite, Ordered: true, Seed: 7, SeedSet: true, PartBytes: 1e9,
		CommitEvery: 5 * time.Second, Command: "cmd",
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	values, err := f.values()
	if err != nil || !reflect.DeepEqual(values, map[string]string{"a": "b=c", "d": ""}) {
		t.Errorf("values %v, %v", values, err)
	}
}

func TestFlagMistakes(t *testing.T) {
	tests := []struct {
		args string
		want string
	}{
		{"--on-error skip --max-errors -1", "--max-errors is -1, want 1 or more"},
		{"--on-error fail --max-error-rate 1%", "are ceilings for --on-error skip and dead-letter"},
		{"--max-error-rate 0%", "want a share above 0 and up to 100%"},
		{"--max-error-rate 2", "want a share above 0 and up to 100%"},
		{"--on-error skp", `want fail, skip or dead-letter (did you mean "skip"?)`},
		{"--overwrite --append", "exclude each other"},
		{"--parallel -1", "--parallel is -1"},
		{"--commit-every -1s", "--commit-every is -1s"},
		{"--memory lots", "such as 256MiB"},
		{"--seed -1", `"-1" is no whole number`},
		{"--set x", "want name=value"},
		{"--set 1x=2", "want name=value"},
		{"--set x=1 --set x=2", "{x} is set twice"},
	}
	for _, tt := range tests {
		f, err := parseFlags(t, strings.Fields(tt.args)...)
		if err == nil {
			_, err = f.settings("")
		}
		if err == nil {
			_, err = f.values()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.args, err, tt.want)
		}
	}
}

func TestProtectStdin(t *testing.T) {
	tests := []struct{ in, want []string }{
		{[]string{"- | limit 5", "--quiet"}, []string{" - | limit 5", "--quiet"}},
		{[]string{"-|x", "-\tx", "-", "--x", "-x"}, []string{" -|x", " -\tx", "-", "--x", "-x"}},
		{[]string{"--", "- | x"}, []string{"--", "- | x"}},
		{nil, []string{}},
	}
	for _, tt := range tests {
		if got := protectStdin(tt.in); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: %q", tt.in, got)
		}
	}
}
