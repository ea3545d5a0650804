package object

import (
	"sync"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// Register makes object stores and the web readable, and object stores writable, by every connector of files. It adds nothing to the
// registry. The environment is read when the first path of a scheme is used.
func Register(*dataset.Registry) error {
	Use(sync.OnceValues(FromEnv))
	return nil
}

// Use is Register with a configuration.
func Use(cfg func() (Config, error)) {
	ahead := newBudget(cfg)
	for scheme, drv := range drivers {
		s := &store{scheme: scheme, drv: drv, cfg: cfg, ahead: ahead}
		file.RegisterScheme(scheme, file.Scheme{FS: storeFS{s}, Disk: s.disk})
	}
	for _, scheme := range clouds {
		if drivers[scheme] == nil {
			f := absentFS{scheme}
			file.RegisterScheme(scheme, file.Scheme{FS: f, Disk: f.disk})
		}
	}
	web := &webFS{cfg: cfg, ahead: ahead}
	for _, scheme := range []string{"http", "https"} {
		file.RegisterScheme(scheme, file.Scheme{FS: web, Plain: true})
	}
}
