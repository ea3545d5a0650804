package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// eventsSchema compiles the published schema.
func eventsSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile("../../../../docs/events.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkEvents validates a stream and returns its types in order.
func checkEvents(t *testing.T, stream string) (types []string, all []event) {
	t.Helper()
	schema := eventsSchema(t)
	for n, line := range strings.Split(strings.TrimSuffix(stream, "\n"), "\n") {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatalf("line %d is no JSON: %v\n%s", n+1, err, line)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("line %d: %v\n%s", n+1, err, line)
		}
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Seq != int64(n) {
			t.Errorf("line %d has number %d", n+1, e.Seq)
		}
		types, all = append(types, e.Type), append(all, e)
	}
	return types, all
}

// busy is a report with something in every field.
func busy() dataset.Report {
	r := midway
	r.Progress = dataset.Progress{State: dataset.RunRunning, UsedBytes: 48 << 20, Slots: 2, SlotsBusy: 2, Quiet: 200 * time.Millisecond,
		Input:      dataset.InputProgress{ListedBytes: 8_000_000, ReadBytes: 3_000_000, Listed: true, Left: 17 * time.Second},
		Bottleneck: dataset.Bottleneck{Stage: "decode", Index: 1, Why: "2 of 2 CPUs busy"}}
	r.SpilledBytes = 7_000_000
	r.Warnings = []dataset.Warning{{Class: "odd exif", Count: 12, Examples: []string{"a.jpg", "b.jpg"}}, {Class: "slow disk", Count: 1}}
	r.Failures = []dataset.Failure{{Op: "decode", Class: "broken image", Count: 2, Examples: []dataset.FailureExample{{Where: "c.jpg", Cause: "no end"}}}}
	r.Stages = []dataset.StageReport{
		{Name: "read images", RowsOut: 1500, BlocksOut: 15, BytesOut: 3_000_000, Busy: time.Second, Workers: 1, Waits: map[string]time.Duration{"output": 8 * time.Second},
			Flow: dataset.Flow{State: "open", Allowed: 2, HeldBytes: 2 << 20, PeakBytes: 4 << 20, Working: 2 * time.Second, Out: dataset.Rate{Rows: 31, Bytes: 2.5e6},
				Idle: map[string]time.Duration{"output": 8 * time.Second}, P50: 800 * time.Microsecond, P99: 4 * time.Millisecond,
				Why: dataset.WaitReason{Policy: "output", Stage: "decode", Have: 9 << 20, Need: 8 << 20, Unit: "bytes"}}},
		{Name: "decode", RowsIn: 1400, RowsOut: 1200, BytesIn: 2_800_000, BytesOut: 400_000_000, Busy: 19 * time.Second, Workers: 2, Failed: 2,
			Flow: dataset.Flow{State: "open", QueuedBlocks: 9, QueuedBytes: 9 << 20, Running: 2, Tasks: 2, Allowed: 2, HeldBytes: 40 << 20, PeakBytes: 60 << 20, Working: 10 * time.Second,
				In: dataset.Rate{Rows: 31, Bytes: 2.5e6}, Out: dataset.Rate{Rows: 30.4, Bytes: 30e6}, P50: 14 * time.Millisecond, P99: 90 * time.Millisecond, Spilled: 7_000_000,
				Why: dataset.WaitReason{Policy: "workers", Have: 2, Need: 3, Unit: "workers"}}},
		{Name: "resize", RowsIn: 1200, RowsOut: 1200, BytesIn: 400_000_000, BytesOut: 180_000_000, Busy: 900 * time.Millisecond, Workers: 1,
			Flow: dataset.Flow{State: "open", Allowed: 2, Working: time.Second, In: dataset.Rate{Rows: 30.4, Bytes: 30e6}, Out: dataset.Rate{Rows: 30.4, Bytes: 9e6},
				Idle: map[string]time.Duration{"input": 9 * time.Second}, P50: 700 * time.Microsecond, P99: time.Millisecond, Why: dataset.WaitReason{Policy: "input", Need: 1, Unit: "blocks"}}},
		{Name: "write parquet", RowsIn: 1000, BytesIn: 150_000_000, Busy: 400 * time.Millisecond, Workers: 1,
			Flow: dataset.Flow{State: "open", Allowed: 1, Working: 400 * time.Millisecond, In: dataset.Rate{Rows: 30.4, Bytes: 9e6}, P50: 6 * time.Millisecond, P99: 6 * time.Millisecond,
				Idle: map[string]time.Duration{"input": 9600 * time.Millisecond}, Why: dataset.WaitReason{Policy: "input", Need: 1, Unit: "blocks"}}},
	}
	return r
}

func TestEventsHoldToTheirSchema(t *testing.T) {
	var out bytes.Buffer
	e := &events{begun: time.Now(), stages: map[int]string{}, shown: map[string]int{}, close: func() error { return nil }, out: &out}
	j := &job{app: &app{Program: Program{Version: "v1"}}, look: &lookout{}, built: &pipeline.Built{Warnings: []string{"odd"}}}
	j.settings.Options.Command = "a | b > c"
	j.watching.events = e
	e.start(j)
	r := busy()
	e.progress(&r)
	r.Stages[0].Waits, r.Stages[0].State, r.Warnings[0].Examples = nil, "ended", append(r.Warnings[0].Examples, "c.jpg")
	r.Stages[0].Why, r.Input.Left, r.Bottleneck = dataset.WaitReason{}, -1, dataset.Bottleneck{Index: -1}
	e.stalled(&r)
	r.Targets = []dataset.TargetReport{{Locator: "out/", Rows: 1000, Bytes: 5, Files: []string{"part-0.parquet"}, Parts: 1}}
	r.State, r.Run = dataset.RunEnded, "20260102T030405-abc"
	e.end(&r)
	if code := j.finished(exitFailed, errors.New("disk full")); code != exitFailed {
		t.Errorf("the exit code became %d", code)
	}
	types, all := checkEvents(t, out.String())
	want := "started warning stage stage stage stage warning warning warning row-error progress warning stage warning progress committed finished"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !strings.Contains(out.String(), `"command":"a | b > c"`) {
		t.Error("the command is escaped beyond need")
	}
	if f := all[len(all)-1].Finished; f.Status != "failed" || f.Error != "disk full" || f.RowsWritten != 1000 || f.Failures[0].Count != 2 {
		t.Errorf("finished: %+v", f)
	}
}

func TestSchemaRefusesOtherLines(t *testing.T) {
	schema := eventsSchema(t)
	const head = `{"v":1,"seq":0,"type":"committed","time":"2026-01-02T03:04:05Z","elapsed_s":0.5`
	const body = `"committed":{"target":"x","rows":1,"bytes":2,"parts":1,"already":false`
	for name, line := range map[string]string{
		"":                head + "," + body + "}}",
		"no member":       head + "}",
		"other member":    head + `,"warning":{"class":"a","message":"b","count":1}}`,
		"two members":     head + "," + body + `},"warning":{"class":"a","message":"b","count":1}}`,
		"unknown field":   head + "," + body + `,"more":1}}`,
		"other version":   strings.Replace(head, `"v":1`, `"v":2`, 1) + "," + body + "}}",
		"no time":         strings.Replace(head, `2026-01-02T03:04:05Z`, `yesterday`, 1) + "," + body + "}}",
		"negative number": head + "," + strings.Replace(body, `"rows":1`, `"rows":-1`, 1) + "}}",
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err != nil) != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestEventsOfCommands(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		code  int
		types string
		last  string // contained in the last event
	}{
		{"runs", []string{"--events=json", "three.jsonl | out.jsonl"}, 0, "started progress committed finished", `"status":"ok"`},
		{"fails", []string{"--events=json", "three.jsonl | fail | out.jsonl"}, 1, "started progress finished", `"status":"failed","exit_code":1,"error":"fail: it is odd"`},
		{"skips", []string{"--events=json", "--on-error=skip", "three.jsonl | fail | out.jsonl"}, 0, "started row-error progress committed finished", `"rows_failed":1`},
		{"is wrong", []string{"--events=json", "three.jsonl | lmit 3"}, 2, "finished", `"status":"usage"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := outcome(t, command(t, tt.args...))
			types, all := checkEvents(t, stderr)
			if got := strings.Join(types, " "); code != tt.code || stdout != "" || got != tt.types {
				t.Errorf("code %d, %s\n%s\n%s", code, got, stdout, stderr)
			}
			if last, _ := json.Marshal(all[len(all)-1].Finished); !strings.Contains(string(last), tt.last) {
				t.Errorf("it ends with %s", last)
			}
		})
	}
	c := command(t, "--events=json:e.jsonl", "three.jsonl | limit 1")
	stdout, stderr, code := outcome(t, c)
	data, err := os.ReadFile(filepath.Join(c.Dir, "e.jsonl"))
	if err != nil || code != 0 || stdout == "" || !strings.Contains(stderr, "read 3 rows") {
		t.Fatalf("code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	checkEvents(t, string(data))
	for spec, want := range map[string]string{"xml": `--events is "xml", want json`, "json:": "want json for standard error or json:FILE", "json:no/such/file": "open --events file"} {
		if _, stderr, code := outcome(t, command(t, "--events="+spec, "three.jsonl")); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d, %s", spec, code, stderr)
		}
	}
}
