package card

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

//go:embed cards/*.yaml
var builtIn embed.FS

// ModelsEnv is the environment variable that names the folder of models.
const ModelsEnv = "SLUICE_MODELS"

// Folders are where models, labels and tokenizers are looked for, besides the card's own folder: what SLUICE_MODELS names, models and .cache/models
// of the working folder, and the user's cache folder.
func Folders() []string {
	var out []string
	if dir := os.Getenv(ModelsEnv); dir != "" {
		out = append(out, dir)
	}
	out = append(out, "models", filepath.Join(".cache", "models"))
	if user, err := os.UserCacheDir(); err == nil {
		out = append(out, filepath.Join(user, "sluice", "models"))
	}
	return out
}

// Names lists the built-in cards.
func Names() []string {
	list, _ := builtIn.ReadDir("cards") // it is part of the program
	var out []string
	for _, f := range list {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	slices.Sort(out)
	return out
}

// Find reads a card: a file, NAME.yaml in a folder of models, or a built-in card.
func Find(name string) (*Card, error) {
	if strings.ContainsAny(name, `/\`) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) {
		return Read(name)
	}
	for _, dir := range Folders() {
		file := filepath.Join(dir, name+".yaml")
		if _, err := os.Stat(file); err == nil {
			return Read(file)
		}
	}
	data, err := builtIn.ReadFile("cards/" + name + ".yaml")
	if errors.Is(err, fs.ErrNotExist) {
		names := Names()
		return nil, fmt.Errorf("there is no card %q%s; built in are %s, others are files", name, dataset.DidYouMean(name, slices.Clone(names)), strings.Join(names, ", "))
	}
	if err != nil {
		return nil, err
	}
	c, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read card %s: %w", name, err)
	}
	c.Source = "built in"
	return c, nil
}

// Read reads the card of a file.
func Read(file string) (*Card, error) {
	data, err := os.ReadFile(file) //nolint:gosec // a file that the user named
	if err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	c, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read card %s: %w", file, err)
	}
	c.Source, c.dir = file, filepath.Dir(file)
	return c, nil
}

// Beside finds the card of a model file: m.card.yaml for m.onnx. There need not be one.
func Beside(model string) (*Card, error) {
	file := strings.TrimSuffix(model, filepath.Ext(model)) + ".card.yaml"
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return Read(file)
}

// File finds a file that the card names.
func (c *Card) File(name string) (string, error) {
	dirs := Folders()
	if c.dir != "" {
		dirs = append([]string{c.dir}, dirs...)
	}
	if filepath.IsAbs(name) {
		dirs = []string{""}
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			return file, nil
		}
	}
	fetch := ""
	if c.Source == "built in" {
		fetch = "; make models fetches it, or name its folder in " + ModelsEnv
	}
	return "", fmt.Errorf("card %s: there is no file %s in %s%s", c.Name, name, strings.Join(dirs, ", "), fetch)
}

// maxLabels bounds a file of labels.
const maxLabels = 16 << 20

// Names returns the labels; meta is the model's metadata.
func (c *Card) Names(l *Labels, meta map[string]string) ([]string, error) {
	switch {
	case l.List != nil:
		return l.List, nil
	case l.Meta != "":
		text, ok := meta[l.Meta]
		if !ok {
			return nil, fmt.Errorf("card %s: the model has no metadata %q", c.Name, l.Meta)
		}
		return lines(text), nil
	}
	file, err := c.File(l.File)
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(file); err != nil || st.Size() > maxLabels {
		return nil, fmt.Errorf("card %s: labels %s are larger than %d bytes, or cannot be read (%v)", c.Name, file, maxLabels, err)
	}
	data, err := os.ReadFile(file) //nolint:gosec // a file that the card names
	if err != nil {
		return nil, fmt.Errorf("card %s: %w", c.Name, err)
	}
	return lines(string(data)), nil
}

// lines divides labels, one a line; the last line may end or not.
func lines(s string) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n")
}
