package sluice

import (
	"context"
	"fmt"
	"os"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// Pipeline makes a dataset of a pipeline string without a sink: "events.jsonl | where score > 0.9". It goes on from there like any other.
// Mistakes carry their byte in the string.
func (s *Session) Pipeline(text string) Dataset {
	p, err := pipeline.Parse(text, pipeline.NamesOf(s.reg))
	if err != nil {
		return s.failed(err)
	}
	if p.Sink != nil {
		return s.failed(dataset.Usagef("pipeline: it ends in the sink %s; use Job, or leave the sink out", p.Sink.Path))
	}
	built, err := s.env(s.reg).Build(context.Background(), p)
	if err != nil {
		return s.failed(err)
	}
	return Dataset{s: s, d: built.Dataset}
}

// Job makes an output of a pipeline string with a sink: "events.jsonl | where score > 0.9 | out.parquet".
func (s *Session) Job(text string) Output {
	p, err := pipeline.Parse(text, pipeline.NamesOf(s.reg))
	if err != nil {
		return s.failed(err).To(nil)
	}
	out, err := s.output(p)
	if err != nil {
		return s.failed(err).To(nil)
	}
	return out
}

// JobFile makes an output of a job file; values are those of its {placeholders}.
func (s *Session) JobFile(name string, values map[string]string) Output {
	data, err := os.ReadFile(name) //nolint:gosec // the file that the caller named
	if err != nil {
		return s.failed(fmt.Errorf("read job: %w", err)).To(nil)
	}
	p, err := pipeline.LoadJob(data, values)
	if err != nil {
		return s.failed(fmt.Errorf("read job %s: %w", name, err)).To(nil)
	}
	out, err := s.output(p)
	if err != nil {
		return s.failed(fmt.Errorf("read job %s: %w", name, err)).To(nil)
	}
	return out
}

func (s *Session) output(p *pipeline.Pipeline) (Output, error) {
	if p.Sink == nil {
		return Output{}, dataset.Usagef("it has no sink; end it in a path, or use Pipeline")
	}
	built, err := s.env(s.reg).Build(context.Background(), p)
	if err != nil {
		return Output{}, err
	}
	return Output{s, built.Output()}, nil
}
