package file

import "path/filepath"

// Where returns the path of an object, for people.
func (s *Storage) Where(name string) string {
	return filepath.Join(s.root, filepath.FromSlash(name))
}
