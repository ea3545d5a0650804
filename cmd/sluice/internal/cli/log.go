package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/sluice-data/sluice/dataset"
)

// logged is a session whose log goes to a file.
type logged struct {
	Session
	file *os.File
}

// Close closes the session and then its log.
func (l *logged) Close() error { return errors.Join(l.Session.Close(), l.file.Close()) }

// openSession opens the session, with the log that --log asks for.
func (a *app) openSession(ctx context.Context, s Settings) (Session, error) {
	if a.flags.log == "" {
		return a.Open(ctx, s)
	}
	f, err := os.OpenFile(a.flags.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a log for people
	if err != nil {
		return nil, dataset.Usagef("--log: %v", err)
	}
	s.Log = slog.New(slog.NewTextHandler(f, nil))
	session, err := a.Open(ctx, s)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &logged{session, f}, nil
}
