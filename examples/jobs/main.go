// Command jobs runs the job file beside it from Go, as the command line does:
//
//	go run ./examples/jobs -lang de -out texts.jsonl
//	sluice run examples/jobs/job.yaml --set lang=de --set out=texts.jsonl
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/sluice-data/sluice"
)

func main() {
	job := flag.String("job", "examples/jobs/job.yaml", "job file")
	lang := flag.String("lang", "de", "value of {lang}")
	out := flag.String("out", "texts.jsonl", "value of {out}")
	flag.Parse()
	text, err := run(context.Background(), *job, map[string]string{"lang": *lang, "out": *out})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
}

// run runs a job and says what it did. The same job again on a finished result does nothing.
func run(ctx context.Context, job string, values map[string]string) (string, error) {
	s, err := sluice.Open(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	report, err := s.JobFile(job, values).Run(ctx)
	if err != nil {
		return "", err
	}
	if report.Complete {
		return "already complete", nil
	}
	return fmt.Sprintf("read %d rows, wrote %d", report.RowsRead, report.RowsWritten), nil
}
