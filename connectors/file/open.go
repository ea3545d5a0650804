package file

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// SourceOptions are the read options of a connector; those that embed Hive have the method.
type SourceOptions interface{ hive() string }

// OpenSource is the Open of a dataset.SourceDef whose parameters are of type *O: it gives the connector its files, and adds the columns that the
// folders of the files hold.
func OpenSource[O SourceOptions, S dataset.Source](name string, open func(*Set, O) (S, error)) func(context.Context, []dataset.Pattern, any) (dataset.Source, error) {
	return func(_ context.Context, in []dataset.Pattern, params any) (dataset.Source, error) {
		opt, ok := params.(*O)
		if !ok {
			return nil, fmt.Errorf("%s: parameters are %T, want %T", name, params, opt)
		}
		set := NewSet(Local{}, in)
		src, err := open(set, *opt)
		if err != nil {
			return nil, err // a nil S must not become a non-nil Source
		}
		return Partitioned(src, set, (*opt).hive())
	}
}

// SinkOptions are the parameters of a sink; those that embed Layout have the method.
type SinkOptions interface{ layout() Layout }

func (l Layout) layout() Layout { return l }

// OpenSinkAs is the Open of a dataset.SinkDef whose parameters are of type *O: format makes the format for a path as typed.
func OpenSinkAs[O SinkOptions, F dataset.Format](name string, format func(path string, opt O) (F, error)) func(string, any) (dataset.Sink, error) {
	return func(path string, params any) (dataset.Sink, error) {
		opt, ok := params.(*O)
		if !ok {
			return nil, fmt.Errorf("%s: parameters are %T, want %T", name, params, opt)
		}
		f, err := format(path, *opt)
		if err != nil {
			return nil, err
		}
		return OpenSink(path, f, (*opt).layout())
	}
}

// TargetCompression is the compression that the path of a result asks for by its last extension, empty for none.
func TargetCompression(path string) string { return Compression(strings.TrimSuffix(path, "/")) }
