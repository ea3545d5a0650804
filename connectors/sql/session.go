package sql

import (
	"context"
	"errors"
	"sync"
)

// session shares one view between all readers of a run. It is open while anyone uses it.
type session struct {
	db database
	mu struct {
		sync.Mutex
		current *held
	}
}

// held is a view and how many use it.
type held struct {
	view  view
	users int
	stale bool // it is lost; whoever comes next opens another
}

// use gives the current view, opening one if need be, and what gives it back.
func (s *session) use(ctx context.Context) (view, func() error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.current == nil || s.mu.current.stale {
		v, err := s.db.open(ctx)
		if err != nil {
			return nil, nil, err
		}
		h := &held{view: v}
		if old := s.mu.current; old != nil { // those who hold it are moved over: the next view lives as long as they do
			h.users, old.users = old.users, 0
			err = old.view.close()
			_ = err // its connection is gone: that is why it is stale
		}
		s.mu.current = h
	}
	h := s.mu.current
	h.users++
	var once sync.Once
	return h.view, func() (err error) {
		once.Do(func() { err = s.leave() })
		return err
	}, nil
}

func (s *session) leave() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.mu.current
	if h.users--; h.users > 0 {
		return nil
	}
	s.mu.current = nil
	return h.view.close()
}

// mark notes that a view is lost if err says so, and returns whether it does.
func (s *session) mark(v view, err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || !v.lost(err) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.current != nil && s.mu.current.view == v {
		s.mu.current.stale = true
	}
	return true
}
