package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// stageExtension ends the names of files that are not published: no reader takes them for data.
const stageExtension = ".part"

// successName marks a complete folder, as Hadoop's committers do.
const successName = "_SUCCESS"

// sinkData is what the sink keeps in a receipt.
type sinkData struct {
	Staged  string `json:"staged"`          // below the state folder, with slashes
	ModTime int64  `json:"mtime,omitempty"` // nanoseconds; renaming keeps it
}

func receiptData(r dataset.Receipt) (sinkData, error) {
	var d sinkData
	if len(r.Data) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(r.Data, &d); err != nil {
		return d, fmt.Errorf("read receipt of %s: %w", r.Name, err)
	}
	if d.Staged != "" && !fs.ValidPath(d.Staged) {
		return d, fmt.Errorf("read receipt of %s: invalid staged name %q", r.Name, d.Staged)
	}
	return d, nil
}

func (d sinkData) encode() (json.RawMessage, error) { return json.Marshal(d) }

// stagePath is the path of a staged file; name is below the state folder.
func (s *Sink) stagePath(name string) string {
	return filepath.Join(s.state, filepath.FromSlash(name))
}

// finalPath is the path of a published part. Names come from our own manifest, but a damaged one must not reach out of the target.
func (s *Sink) finalPath(r dataset.Receipt) (string, error) {
	if !fs.ValidPath(r.Name) || r.Name == "." {
		return "", fmt.Errorf("part name %q of %s leaves the target", r.Name, s.typed)
	}
	return filepath.Join(s.base, filepath.FromSlash(r.Name)), nil
}

// partName is the published name of a part in the folder form of the result.
func (s *Sink) partName(p dataset.Part) (string, error) {
	name := fmt.Sprintf("part-%010d-%s-%d.%s", p.Seq, p.Run, p.Attempt, s.format.Extension())
	dir := s.single
	for _, key := range s.layout.By {
		v, ok := p.Partition[key]
		if !ok {
			return "", fmt.Errorf("open part %s: no value for partition column %q", name, key)
		}
		folder := hiveEscape(key) + "=" + hiveEscape(v)
		if len(folder) > 255 {
			return "", fmt.Errorf("open part %s: the value of %q gives a folder name of %d bytes, over the 255 that file systems take; partition by a shorter column",
				name, key, len(folder))
		}
		dir = path.Join(dir, folder)
	}
	return path.Join(dir, name), nil
}

// hiveEscape writes what cannot stand in a folder name as %XX, as Hive does.
func hiveEscape(s string) string {
	const special = "\"#%'*/:=?\\{}[]^\x7f"
	var out strings.Builder
	for i := range len(s) {
		if c := s[i]; c < 0x20 || strings.IndexByte(special, c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// resultDir is the folder that holds the parts when the result is a folder.
func (s *Sink) resultDir() string { return filepath.Join(s.base, s.single) }

// isSingle tells whether the receipt is the one file of a one-file result.
func (s *Sink) isSingle(r dataset.Receipt) bool { return s.single != "" && r.Name == s.single }

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
