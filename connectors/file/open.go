package file

import (
	"context"
	"fmt"

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
