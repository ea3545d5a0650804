package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-data/sluice"
)

const want = `read 25 photos, wrote 19, set 4 aside
  empty file: 1
  not an image: 1
  too large: 1
  truncated: 1
8 of them look like another one
`

func TestProgramAndJobGiveTheSame(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // the index of results is not for tests to write
	t.Chdir("../..")                        // where job.yaml finds the photos
	dir := t.TempDir()
	program, job := filepath.Join(dir, "program.parquet"), filepath.Join(dir, "job.parquet")
	var out strings.Builder
	if err := run(t.Context(), &out, "testdata/photos", program); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("it printed\n%swant\n%s", out.String(), want)
	}
	s, err := sluice.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.JobFile("examples/photos/job.yaml", map[string]string{"out": job}).Run(t.Context(), sluice.WithOnError(sluice.Skip)); err != nil {
		t.Fatal(err)
	}
	a, errA := s.Read(program).Take(t.Context(), 100)
	b, errB := s.Read(job).Take(t.Context(), 100)
	if errA != nil || errB != nil || len(a) != 19 || !reflect.DeepEqual(a, b) {
		t.Errorf("the program gives %d rows (%v), the job %d (%v), or they differ", len(a), errA, len(b), errB)
	}
}
