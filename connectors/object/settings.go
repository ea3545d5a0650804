package object

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sluice-data/sluice/dataset"
)

// settingsName is the settings file that is looked for in the working directory, and in the user's configuration folder below sluice/.
const settingsName = "sluice.yaml"

// maxSettings is the largest settings file that is read.
const maxSettings = 64 << 10

// settingKeys are the keys of each section of a settings file, with the variables that count before them.
//
// The addresses of gs:// and az:// stores are not among them: their clients send tokens to the address, and a file that came with somebody's
// folder must not say where. What S3 clients send is a signature.
var settingKeys = map[string]map[string]string{
	"s3": {
		"endpoint": "SLUICE_S3_ENDPOINT", "path_style": "SLUICE_S3_PATH_STYLE", "region": "SLUICE_S3_REGION", "profile": "AWS_PROFILE", "anonymous": "SLUICE_S3_ANONYMOUS",
	},
	"gs": {"anonymous": "SLUICE_GS_ANONYMOUS"},
	"az": {"account": "AZURE_STORAGE_ACCOUNT", "anonymous": "SLUICE_AZ_ANONYMOUS"},
	"object": {
		"ranges": "SLUICE_OBJECT_RANGES", "files": "SLUICE_OBJECT_FILES", "range_size": "SLUICE_OBJECT_RANGE_SIZE", "read_ahead": "SLUICE_OBJECT_READ_AHEAD",
		"patience": "SLUICE_OBJECT_PATIENCE", "stall": "SLUICE_OBJECT_STALL", "upload_part": "SLUICE_OBJECT_UPLOAD_PART", "uploads": "SLUICE_OBJECT_UPLOADS",
	},
}

// setting is a value of a settings file.
type setting struct {
	value string
	where string // "sluice.yaml:3: s3.region", for errors
}

// settings are those of a file, by the variable that would count before them.
type settings map[string]setting

// loadSettings reads the settings file that SLUICE_CONFIG names, else the first that is there: sluice.yaml in the working directory, then
// sluice/sluice.yaml in the user's configuration folder. None is no error.
func loadSettings(env func(string) string) (settings, error) {
	if path := env("SLUICE_CONFIG"); path != "" {
		return readSettings(path)
	}
	places := []string{settingsName}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "sluice", settingsName))
	}
	for _, path := range places {
		if s, err := readSettings(path); !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return nil, nil
}

func readSettings(path string) (settings, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, dataset.Usagef("read settings: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err != nil {
		return nil, dataset.Usagef("read settings: %w", err)
	}
	if len(data) > maxSettings {
		return nil, dataset.Usagef("read settings: %s is larger than the limit of %s", path, dataset.ByteSize(maxSettings))
	}
	s, err := parseSettings(path, data)
	if err != nil {
		return nil, dataset.Usagef("read settings: %w", err)
	}
	return s, nil
}

// parseSettings reads sections of keys. Unknown ones are refused, so that a slip is noticed and credentials are never kept there.
func parseSettings(path string, data []byte) (settings, error) {
	var sections map[string]map[string]yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&sections); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: want sections of keys, as in `s3: {region: eu-central-1}`: %w", path, err)
	}
	out := settings{}
	for section, keys := range sections {
		known := settingKeys[section]
		if known == nil {
			return nil, fmt.Errorf("%s: there is no section %s; there are %s", path, section, names(settingKeys))
		}
		for key, node := range keys {
			where := fmt.Sprintf("%s:%d: %s.%s", path, node.Line, section, key)
			name, ok := known[key]
			switch {
			case slices.ContainsFunc([]string{"key", "secret", "token", "password", "credential"}, func(s string) bool { return strings.Contains(strings.ToLower(key), s) }):
				return nil, fmt.Errorf("%s: credentials are not read from settings; leave them to the tools of the cloud (docs/environment.md)", where)
			case key == "endpoint" && !ok:
				return nil, fmt.Errorf("%s: the address is read from the environment only (SLUICE_%s_ENDPOINT), because the login is sent there", where, strings.ToUpper(section))
			case !ok:
				return nil, fmt.Errorf("%s: there is no such key; there are %s", where, names(known))
			case node.Kind != yaml.ScalarNode:
				return nil, fmt.Errorf("%s: want one value", where)
			}
			out[name] = setting{strings.TrimSpace(node.Value), where}
		}
	}
	return out, nil
}

// names are the keys of a table in order, with commas.
func names[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }
