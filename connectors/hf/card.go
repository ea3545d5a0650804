package hf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// maxCard bounds the README.md of a folder: datasets of ten thousand configs have some 5 MB of them.
const maxCard = 16 << 20

// config is one of the configs of README.md.
type config struct {
	Name    string    `yaml:"config_name"`
	Default bool      `yaml:"default"`
	Dir     string    `yaml:"data_dir"`
	Files   dataFiles `yaml:"data_files"`
}

// dataFiles are patterns by split, in the order of the file. The YAML may be one pattern, a list of patterns, a list of {split, path}, or a
// map from splits to patterns.
type dataFiles []splitFiles

type splitFiles struct {
	Split string   `yaml:"split"`
	Path  patterns `yaml:"path"`
}

// patterns is one pattern or a list of them.
type patterns []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *patterns) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*p = patterns{n.Value}
		return nil
	}
	var list []string
	err := n.Decode(&list)
	*p = list
	return err
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *dataFiles) UnmarshalYAML(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			var p patterns
			if err := n.Content[i+1].Decode(&p); err != nil {
				return err
			}
			*d = append(*d, splitFiles{n.Content[i].Value, p})
		}
		return nil
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode:
		var list []splitFiles
		err := n.Decode(&list)
		*d = list
		return err
	}
	var p patterns
	err := n.Decode(&p)
	*d = dataFiles{{defaultSplit, p}}
	return err
}

// readCard reads the configs of the README.md of a folder; none if it has no such file or block.
func readCard(ctx context.Context, place file.FS, path string) ([]config, error) {
	info, err := place.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Dir {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size > maxCard {
		return nil, fmt.Errorf("read %s: it has %d bytes, over the limit of %d", path, info.Size, maxCard)
	}
	h, err := place.Open(ctx, info.FileRef)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.NewSectionReader(h, 0, info.Size))
	if err = errors.Join(err, h.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	out, err := parseCard(raw)
	if err != nil {
		return nil, dataset.Usagef("read %s: %v; mend it, or name the files themselves", path, err)
	}
	return out, nil
}

// parseCard reads the block between the first two lines of three dashes.
func parseCard(raw []byte) ([]config, error) {
	raw = bytes.TrimPrefix(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\xEF\xBB\xBF"))
	rest, ok := bytes.CutPrefix(raw, []byte("---\n"))
	if !ok {
		return nil, nil
	}
	block, _, ok := bytes.Cut(append([]byte("\n"), rest...), []byte("\n---"))
	if !ok {
		return nil, nil
	}
	var card struct {
		Configs []config `yaml:"configs"`
	}
	if err := yaml.Unmarshal(block, &card); err != nil {
		return nil, fmt.Errorf("its YAML block: %w", err)
	}
	return card.Configs, nil
}

// choose picks a config by name, or the default one.
func choose(all []config, name string) (*config, error) {
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
		if name != "" && all[i].Name == name {
			return &all[i], nil
		}
	}
	if name != "" {
		return nil, dataset.Usagef("config=%s: README.md has the configs %s", name, strings.Join(names, ", "))
	}
	if i := slices.IndexFunc(all, func(c config) bool { return c.Default || c.Name == "default" }); i >= 0 {
		return &all[i], nil
	}
	if len(all) > 1 {
		return nil, dataset.Usagef("README.md has several configs and none is the default: pass config=, one of %s", strings.Join(names, ", "))
	}
	return &all[0], nil
}
